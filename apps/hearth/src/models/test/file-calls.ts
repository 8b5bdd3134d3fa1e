import promises from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";

/** What happens at the n-th file-system call, counted from 1. */
export type FileFault = { readonly call: number; readonly kind: FaultKind };
/** A failed write has written its first half; a death is the real one, by SIGKILL. */
export type FaultKind = "EIO" | "ENOSPC" | "die-before" | "die-after";

type Call = (...values: unknown[]) => Promise<unknown>;

const notCalls = new Set(["constants", "default", "glob", "watch"]);
const handleCalls = [
  ["appendFile", "chmod", "datasync", "read", "readFile", "readv", "stat", "sync", "truncate", "utimes"],
  ["write", "writeFile", "writev", "close"],
].flat();

let watched: { readonly calls: string[]; readonly fault: FileFault | undefined } | undefined;

/**
 * Runs something and gives the names of the calls of `node:fs/promises` and of open files that it made, in order.
 * Whoever imported those functions before has the watched ones, because the bindings of built-in modules are live.
 */
export async function watchFileCalls(
  fault: FileFault | undefined,
  work: () => Promise<void>,
): Promise<readonly string[]> {
  const calls: string[] = [];
  watched = { calls, fault };
  try {
    await work();
  } finally {
    watched = undefined;
  }
  return calls;
}

/** Once in a process. */
export function wrapFileCalls(): void {
  for (const name of Object.keys(promises)) {
    if (!notCalls.has(name)) wrap(promises, name);
  }
  syncBuiltinESMExports();
}

function wrap(target: object, name: string): void {
  // Both tables above name functions that give promises.
  const original = Reflect.get(target, name) as Call;
  Reflect.set(target, name, async (...values: unknown[]) => {
    // A stream over a file closes it once more; that is no call of the system.
    if (name === "close" && Reflect.get(target, "fd") === -1) return Reflect.apply(original, target, values);
    const result = await strike(labelOf(name, values), {
      perform: () => Reflect.apply(original, target, values),
      performHalf: () => writeHalf(target, name, { original, values }),
    });
    if (name === "open") for (const each of handleCalls) wrap(Object(result), each);
    return result;
  });
}

function labelOf(name: string, values: readonly unknown[]): string {
  return name === "open" && /[wax]/u.test(String(values[1])) ? "open-new" : name;
}

async function strike(
  name: string,
  { perform, performHalf }: { perform: () => Promise<unknown>; performHalf: () => Promise<unknown> },
): Promise<unknown> {
  const now = watched;
  if (now === undefined) return perform();
  const number = now.calls.push(name);
  if (now.fault?.call !== number) return perform();
  const { kind } = now.fault;
  if (kind === "die-before") die();
  // A file is closed even where closing it fails.
  if (kind === "die-after" || name === "close") await perform();
  if (kind === "die-after") die();
  if (kind === "ENOSPC") await performHalf();
  throw Object.assign(new Error(`${kind}: made to fail, ${name}`), { code: kind, syscall: name });
}

async function writeHalf(
  target: object,
  name: string,
  { original, values }: { original: Call; values: readonly unknown[] },
): Promise<void> {
  const [bytes, offset, length, position] = values;
  if (!(bytes instanceof Uint8Array)) return;
  const half = Math.floor((typeof length === "number" ? length : bytes.length) / 2);
  if (name === "writeFile") await Reflect.apply(original, target, [bytes.subarray(0, half)]);
  if (name === "write") await Reflect.apply(original, target, [bytes, offset ?? 0, half, position ?? null]);
}

function die(): never {
  process.kill(process.pid, "SIGKILL");
  // The signal is not waited for by the call that sends it.
  for (;;);
}
