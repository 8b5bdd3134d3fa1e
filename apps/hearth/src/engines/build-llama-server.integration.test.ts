import { chmod, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { FailureError } from "@hearth-and-keep/failures";
import { chooseSize } from "@hearth-and-keep/figures";
import { makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { createLlamaServerDriver } from "@hearth-and-keep/upstream-engine";
import { expect, test } from "vitest";
import { readEngineLocations } from "../config.ts";
import { buildLlamaServer } from "./build-llama-server.ts";
import { type EngineSetupFailure, formatEngineSetupFailure, formatProgram } from "./engine-programs.ts";
import { findEngines } from "./find-engines.ts";
import { bindingVersion } from "./gpu-packages.ts";
import { runSelfTests } from "./self-test.ts";
import { createSelfTestModel } from "./self-test-model.ts";

/** Notes how it was called, and creates what the real one would. */
const standIns = {
  git: 'if [ "$3" = clone ]; then mkdir -p "$6"; fi',
  cmake: 'mkdir -p "$4/bin"',
  ninja: [
    'cd "$2/bin"',
    "printf '#!/bin/sh\\nexit 1\\n' > llama-server",
    "touch libggml.so.0.25.1 libggml-cpu-haswell.so llama-quantize",
    "ln -s libggml.so.0.25.1 libggml.so",
    'for step in 1 2 3 4; do echo "[$step/4] Building"; done',
  ].join("\n"),
  "clang++-16": "exit 1",
  "clang-16": "exit 1",
} as const;

type StandIns = Readonly<Record<string, string>>;

async function prepare(folder: string, changes: StandIns = {}) {
  const programs = join(folder, "programs");
  await mkdir(programs);
  const calls = join(folder, "calls");
  for (const [name, script] of Object.entries({ ...standIns, ...changes })) {
    const text = `#!/bin/sh\nfor each in ${name} "$@"; do echo "$each" >> ${calls}; done\n${script}\n`;
    await writeFile(join(programs, name), text);
    await chmod(join(programs, name), 0o755);
  }
  const locations = { folder: join(folder, "engines"), searchPath: [programs] };
  return { programs, locations, readCalls: async () => (await readFile(calls, "utf8")).split("\n") };
}

async function messageOf(work: Promise<unknown>): Promise<string> {
  const error = await work.catch((reason: unknown) => reason);
  // The function under test only throws failures of this union.
  if (error instanceof FailureError) return formatEngineSetupFailure(error.failure as EngineSetupFailure);
  throw error;
}

test("a build calls the tools so that nothing is downloaded, and its program is found as an engine", async () => {
  await using folder = await makeTemporaryFolder("build");
  const { programs, locations, readCalls } = await prepare(folder.path);
  const messages: string[] = [];
  const program = await buildLlamaServer(locations, { onStep: (message) => messages.push(message) });
  const calls = await readCalls();
  expect(calls).toEqual(
    expect.arrayContaining([
      "apply",
      `-DCMAKE_C_COMPILER=${join(programs, "clang-16")}`,
      `-DCMAKE_CXX_COMPILER=${join(programs, "clang++-16")}`,
      "-DGGML_BACKEND_DL=ON",
      "-DGGML_CPU_ALL_VARIANTS=ON",
      "-DCMAKE_INSTALL_RPATH=$ORIGIN",
      "-DLLAMA_USE_PREBUILT_UI=OFF",
      "-DLLAMA_CURL=OFF",
      "-DLLAMA_BUILD_TESTS=OFF",
      "-DFETCHCONTENT_FULLY_DISCONNECTED=ON",
    ]),
  );
  expect(calls.at(-2)).toBe("llama-server");
  expect(calls.join(" ")).not.toContain("AMX");
  const built = join(locations.folder, `llama-server-${bindingVersion}`);
  expect(program).toEqual({ kind: "llama-server", path: join(built, "llama-server"), isCompiled: true });
  expect(await readdir(built)).toEqual([
    "libggml-cpu-haswell.so",
    "libggml.so",
    "libggml.so.0.25.1",
    "llama-server",
  ]);
  expect(await readdir(locations.folder)).toEqual([`llama-server-${bindingVersion}`]);
  expect(findEngines(locations)).toContainEqual(program);
  expect(formatProgram(program)).toBe("llama-server (compiled)");
  const percentages = messages.flatMap(
    (message) => /^Compiled (\d+) % after \d+ s$/u.exec(message)?.[1] ?? [],
  );
  expect(percentages).toEqual(["20", "50", "70", "100"]);
});

test("without clang, the kernels that other compilers get wrong are left out, and that is said", async () => {
  await using folder = await makeTemporaryFolder("build");
  const { programs, locations, readCalls } = await prepare(folder.path, { "c++": "exit 1" });
  // Both programs of clang are needed.
  await chmod(join(programs, "clang++-16"), 0o644);
  const messages: string[] = [];
  await buildLlamaServer(locations, { onStep: (message) => messages.push(message) });
  expect(await readCalls()).toContain("-DCMAKE_CXX_FLAGS=-U__AMX_INT8__");
  expect(messages.join("\n")).toContain("without AMX, which needs clang");
});

const compilerError = "/somewhere/ggml.c:1:2: error: unknown type name 'x'";

test.each([
  [
    "fails",
    { ninja: `echo "${compilerError}"; echo "1 error generated."; echo "ninja: build stopped."; exit 1` },
    "Cannot compile the engine: … error: unknown type name 'x'",
  ],
  ["takes too long", { ninja: "exec sleep 60" }, "Cannot compile the engine: it did not finish within 1 s"],
] as const)(
  "a compiler that %s is reported in one sentence without paths, and leaves nothing",
  async (...row) => {
    const [, changes, message] = row;
    await using folder = await makeTemporaryFolder("build");
    const { locations } = await prepare(folder.path, changes);
    const startedAt = performance.now();
    const build = buildLlamaServer(locations, { onStep: () => undefined, timeoutSeconds: 1 });
    expect(await messageOf(build)).toBe(message);
    expect(performance.now() - startedAt).toBeLessThan(30_000);
    expect(await readdir(locations.folder)).toEqual([]);
  },
);

/** Compiles 400 files. */
const realBuilds = chooseSize({ ci: [], show: [], nightly: ["this machine's compiler"] });

test.for(realBuilds)("%s makes a server that passes its self-test", { timeout: 7_200_000 }, async () => {
  await using folder = await makeTemporaryFolder("build");
  const locations = readEngineLocations({ enginesFolder: folder.path });
  const program = await buildLlamaServer(locations, { onStep: () => undefined });
  expect(findEngines(locations)).toContainEqual(program);
  const modelPath = await createSelfTestModel(folder.path);
  // Cannot be another kind.
  const driver = createLlamaServerDriver({ program: program as Extract<typeof program, { path: string }> });
  const results = await runSelfTests([driver], { modelPath, loadSettings: { threads: 1, gpuLayers: 0 } });
  expect(results).toEqual([{ works: true, tokensPerSecond: expect.any(Number) }]);
});
