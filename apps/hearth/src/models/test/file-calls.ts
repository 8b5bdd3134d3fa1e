import promises from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";

/** A fault at the n-th file-system call, counted from 1. */
export type FileFault = { readonly call: number; readonly kind: FaultKind };
/** ENOSPC writes the first half; the `die` kinds send SIGKILL to the own process. */
export type FaultKind = "EIO" | "ENOSPC" | "die-before" | "die-after";

type Call = (...values: unknown[]) => Promise<unknown>;

const notCalls = new Set(["constants", "default", "glob", "watch"]);
const handleCalls = [
  ["appendFile", "chmod", "datasync", "read", "readFile", "readv", "stat", "sync", "truncate", "utimes"],
  ["write", "writeFile", "writev", "close"],
].flat();

let watched: { readonly calls: string[]; readonly fault: FileFault | undefined } | undefined;

/**
 * Runs work and returns the names of its calls to `node:fs/promises` and to file handles, in order. Modules that
 * imported those functions earlier are covered too, because the bindings of built-in modules are live.
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

/** Call once per process. */
export function wrapFileCalls(): void {
  for (const name of Object.keys(promises)) {
    if (!notCalls.has(name)) wrap(promises, name);
  }
  syncBuiltinESMExports();
}

function wrap(target: object, name: string): void {
  // All wrapped functions return promises.
  const original = Reflect.get(target, name) as Call;
  Reflect.set(target, name, async (...values: unknown[]) => {
    // A stream closes its file handle a second time; that is not a system call.
    if (name === "close" && Reflect.get(target, "fd") === -1) return Reflect.apply(original, target, values);
    const result = await callWithFault(labelOf(name, values), {
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

async function callWithFault(
  name: string,
  { perform, performHalf }: { perform: () => Promise<unknown>; performHalf: () => Promise<unknown> },
): Promise<unknown> {
  const now = watched;
  if (now === undefined) return perform();
  const number = now.calls.push(name);
  if (now.fault?.call !== number) return perform();
  const { kind } = now.fault;
  if (kind === "die-before") die();
  // A file is closed even when close fails.
  if (kind === "die-after" || name === "close") await perform();
  if (kind === "die-after") die();
  if (kind === "ENOSPC") await performHalf();
  throw Object.assign(new Error(`${kind}: injected fault in ${name}`), { code: kind, syscall: name });
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
  // The signal is delivered asynchronously.
  for (;;);
}
