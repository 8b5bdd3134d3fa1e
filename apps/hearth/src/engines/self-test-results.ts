import { createHash } from "node:crypto";
import { readFile, rename, stat, writeFile } from "node:fs/promises";
import { arch, cpus } from "node:os";
import { dirname, join } from "node:path";
import type { Static } from "typebox";
import { Check } from "typebox/value";
import manifest from "../../package.json" with { type: "json" };
import type { EngineProgram } from "./engine-programs.ts";
import { cachedResultSchema } from "./schema.ts";
import type { SelfTestResult } from "./self-test.ts";

const fileName = "self-tests.json";
const maxResults = 32;
const dayMilliseconds = 24 * 3600 * 1000;
/** Failures expire sooner, because the machine's state may have caused them. */
const maxAge = { works: 30 * dayMilliseconds, fails: dayMilliseconds };

type CachedResult = Static<typeof cachedResultSchema>;

/** The result of the last self-test of this program; undefined when there is none or it has expired. */
export async function readCachedSelfTest(
  folder: string,
  program: EngineProgram,
): Promise<SelfTestResult | undefined> {
  const key = await keyOf(program);
  const found = (await readResults(folder)).find((each) => each.key === key);
  if (found === undefined) return undefined;
  const age = Date.now() - found.at;
  return age >= 0 && age < (found.result.works ? maxAge.works : maxAge.fails) ? found.result : undefined;
}

export async function cacheSelfTest(
  folder: string,
  program: EngineProgram,
  { at = Date.now(), ...result }: SelfTestResult & { readonly at?: number },
): Promise<void> {
  const key = await keyOf(program);
  const others = (await readResults(folder)).filter((each) => each.key !== key);
  const results = [{ key, at, result }, ...others].slice(0, maxResults);
  const temporary = join(folder, `${fileName}.${process.pid}`);
  await writeFile(temporary, `${JSON.stringify(results)}\n`);
  await rename(temporary, join(folder, fileName));
}

/** Changes with the program's file, with the versions of Hearth and Node, and with the processor. */
async function keyOf(program: EngineProgram): Promise<string> {
  const path = fileOf(program);
  const file = path === undefined ? undefined : await stat(path).catch(() => undefined);
  const identity = [
    program,
    file?.mtimeMs,
    file?.size,
    manifest.version,
    process.version,
    arch(),
    cpus()[0]?.model,
  ];
  return createHash("sha256").update(JSON.stringify(identity)).digest("hex").slice(0, 32);
}

function fileOf(program: EngineProgram): string | undefined {
  switch (program.kind) {
    case "binding":
      return program.buildFolder;
    case "llama-server":
      return program.path;
    case "xllamacpp":
      // The interpreter is a link to the system's Python; this file belongs to the environment.
      return join(dirname(dirname(program.interpreter)), "pyvenv.cfg");
  }
}

/** Invalid entries are skipped; the self-test then runs again. */
async function readResults(folder: string): Promise<readonly CachedResult[]> {
  try {
    const entries: unknown = JSON.parse(await readFile(join(folder, fileName), "utf8"));
    return Array.isArray(entries) ? entries.filter((entry) => Check(cachedResultSchema, entry)) : [];
  } catch {
    return [];
  }
}
