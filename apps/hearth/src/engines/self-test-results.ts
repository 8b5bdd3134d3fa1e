import { createHash } from "node:crypto";
import { readFile, rename, stat, writeFile } from "node:fs/promises";
import { arch, cpus } from "node:os";
import { dirname, join } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import type { EngineProgram } from "./engine-programs.ts";
import type { SelfTest } from "./self-test.ts";

const fileName = "self-tests.json";
const mostResults = 32;
const day = 24 * 3600 * 1000;
/** A machine changes in time; a failure may have been the machine's and is looked at again sooner. */
const validFor = { works: 30 * day, fails: day };

type Remembered = { readonly key: string; readonly at: number; readonly result: SelfTest };

/** What the last self-test of this very program said; undefined when there was none or it is too old. */
export async function recallSelfTest(folder: string, program: EngineProgram): Promise<SelfTest | undefined> {
  const key = await keyOf(program);
  const found = (await readResults(folder)).find((each) => each.key === key);
  if (found === undefined) return undefined;
  const age = Date.now() - found.at;
  return age >= 0 && age < (found.result.works ? validFor.works : validFor.fails) ? found.result : undefined;
}

export async function rememberSelfTest(
  folder: string,
  program: EngineProgram,
  { at = Date.now(), ...result }: SelfTest & { readonly at?: number },
): Promise<void> {
  const key = await keyOf(program);
  const others = (await readResults(folder)).filter((each) => each.key !== key);
  const results = [{ key, at, result }, ...others].slice(0, mostResults);
  const unfinished = join(folder, `${fileName}.${process.pid}`);
  await writeFile(unfinished, `${JSON.stringify(results)}\n`);
  await rename(unfinished, join(folder, fileName));
}

/** Another file at the same path, another version of ours or another processor is another engine. */
async function keyOf(program: EngineProgram): Promise<string> {
  const place = placeOf(program);
  const file = place === undefined ? undefined : await stat(place).catch(() => undefined);
  const facts = [
    program,
    file?.mtimeMs,
    file?.size,
    manifest.version,
    process.version,
    arch(),
    cpus()[0]?.model,
  ];
  return createHash("sha256").update(JSON.stringify(facts)).digest("hex").slice(0, 32);
}

function placeOf(program: EngineProgram): string | undefined {
  switch (program.kind) {
    case "binding":
      return program.buildFolder;
    case "llama-server":
      return program.path;
    case "xllamacpp":
      // The interpreter is a link; the environment's own file is ours.
      return join(dirname(dirname(program.interpreter)), "pyvenv.cfg");
  }
}

/** A file that is not ours counts as empty: the tests are then made again. */
async function readResults(folder: string): Promise<readonly Remembered[]> {
  try {
    const written: unknown = JSON.parse(await readFile(join(folder, fileName), "utf8"));
    return Array.isArray(written) ? written.filter(isRemembered) : [];
  } catch {
    return [];
  }
}

function isRemembered(value: unknown): value is Remembered {
  if (typeof value !== "object" || value === null) return false;
  if (!("key" in value && "at" in value && "result" in value)) return false;
  const { key, at, result } = value;
  if (typeof key !== "string" || typeof at !== "number") return false;
  if (typeof result !== "object" || result === null || !("works" in result)) return false;
  return result.works === true
    ? "tokensPerSecond" in result && typeof result.tokensPerSecond === "number"
    : "reason" in result && typeof result.reason === "string";
}
