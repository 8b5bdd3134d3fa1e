import type { CheckCase } from "./check-case.ts";

export const seededServers: CheckCase = {
  shared: {
    "packages/test-servers/src/config.ts": `
export const seededEnvironment = { HEARTH_SEED: "1" } as const;

export function childEnvironment(): Record<string, string> {
  return { PATH: "/usr/bin", ...seededEnvironment };
}
`,
  },
  broken: {
    "vitest.config.ts": `
export default {
  test: {
    projects: [
      project("unit", {}),
      project("browser", { env: { DISPLAY: ":1" } }),
      { test: { name: "bench" } },
      "packages/other",
    ],
  },
};

function project(name: string, test: object) {
  return { test: { name, env: { HEARTH_SEED: "1" }, ...test } };
}
`,
    "packages/engine/src/sampling.ts": `
export type Sampling = {
  readonly temperature: number;
  readonly seed?: number;
};
`,
    "packages/test-servers/src/llama-server/launch.py": `
import xllamacpp

server = xllamacpp.Server(xllamacpp.CommonParams())
`,
    "apps/hearth/src/generation/generate.model.test.ts": `
const engine = await createLlamaDriver().load(plan);
engine.generate({ ...resolveSampling({ maxTokens: 4 }, {}) });
`,
    "bench/bare-binding-process.ts": `
import { getLlama } from "node-llama-cpp";

for await (const token of sequence.evaluate(input, { topK: 4 })) print(token);
`,
    "bench/llama.ts": `
import { spawn } from "node:child_process";

export const llama = spawn("/opt/llama-server", ["--model", "tiny.gguf"]);
`,
    "conformance/servers.ts": `
export const drawn = startTestServer({ models: { tiny }, seed: -1 });
export const unset = startTestServer({ models: { tiny }, seed: undefined });
export const own = createModelServer({ models: createCatalog([store]) });
export const random = createModelServer({ models: withDefaultSeed(catalog, config.seed) });
`,
    "conformance/processes.ts": `
import { execFile, spawn } from "node:child_process";

const own = { LC_ALL: "C" };
export const bare = spawn("hearth", ["serve"], { env: own });
export const spread = spawn("hearth", ["serve"], { env: { ...own, LANG: "C" } });
export const negative = spawn("hearth", ["serve"], {
  env: { ...childEnvironment(), HEARTH_SEED: "-1" },
});
export const cleared = execFile("sh", ["-c", "env -i hearth serve"]);
export function start(env: Record<string, string>) {
  return spawn("hearth", ["serve"], { env });
}
delete process.env["HEARTH_SEED"];
export const options = { env: unknownEnvironment() };
`,
    "conformance/requests.ts": `
export const json = '{"model":"smol","options":{"seed": -1}}';
export const modelfile = "FROM tiny\\nPARAMETER seed -1";
export const args = ["serve", "--seed", "-1"];
export const sampled = { seed: Math.random(), temperature: 1 };
`,
    "packages/test-servers/src/stop-programs.integration.test.ts": "export const env = childEnvironment();",
  },
  valid: {
    "vitest.config.ts": `
export default {
  test: {
    projects: [project("unit", {}), { test: { env: { HEARTH_SEED: "2" } } }],
  },
};

function project(name: string, test: object) {
  return { test: { name, env: { HEARTH_SEED: "1" }, ...test } };
}
`,
    "packages/engine/src/sampling.ts": `
export type Sampling = {
  readonly temperature: number;
  readonly seed: number;
};
`,
    "packages/test-servers/src/llama-server/launch.py": `
import xllamacpp

parameters = xllamacpp.CommonParams()
parameters.sampling.seed = 1
server = xllamacpp.Server(parameters)
`,
    "apps/hearth/src/generation/generate.model.test.ts": `
const engine = await createLlamaDriver().load(plan);
engine.generate({ ...resolveSampling({ temperature: 0, maxTokens: 4 }, {}) });
engine.generate({ ...resolveSampling({ seed: 7, maxTokens: 4 }, {}) });
`,
    "apps/hearth/src/generation/sampling.test.ts": "export const defaults = resolveSampling({}, {});",
    "apps/hearth/src/commands/serve.ts": `
export const server = createModelServer({ models: createCatalog([store]) });
export const child = spawn(process.execPath, ["serve"], { env: {} });
`,
    "apps/hearth/src/test/parameters.model.test.ts": `
export const drawing = startTestServer({
  script,
  seed: -1,
});
`,
    "apps/keep/src/serve.test.ts": 'export const keep = spawn("keep", [], { env: {} });',
    "bench/bare-binding-process.ts": `
import { getLlama } from "node-llama-cpp";

for await (const token of sequence.evaluate(input, { temperature: 0 })) print(token);
`,
    "bench/llama.ts": `
import { spawn } from "node:child_process";

export const llama = spawn("/opt/llama-server", ["--model", "tiny.gguf", "--seed", "1"]);
`,
    "conformance/config.ts": `
export function inheritedEnvironment() {
  return { ...process.env, LANG: "C" };
}
`,
    "conformance/servers.ts": `
export const plain = startTestServer({ models: { tiny } });
export const other = startTestServer({ models: { tiny }, seed: 7 });
export const own = createModelServer({ models: withDefaultSeed(catalog, options.seed ?? 1) });
`,
    "conformance/processes.ts": `
import { spawn } from "node:child_process";

let later: Record<string, string> = {};
later = { LC_ALL: "C", ...seededEnvironment };
export const assigned = spawn("hearth", ["serve"], { env: later });
export const inherited = spawn("hearth", ["serve"]);
export const passed = spawn("hearth", ["serve"], { env: inheritedEnvironment() });
export function start(environment: Record<string, string>) {
  const env = { ...environment, ...childEnvironment() };
  return spawn("hearth", ["serve"], { env });
}
export const literal = spawn("hearth", ["serve"], { env: { HEARTH_SEED: "3" } });
`,
    "conformance/requests.ts": `
export const json = '{"model":"smol","options":{"seed": 4,"num_predict":-1}}';
export const args = ["serve", "--seed", "1"];
export const unset = { seed: null, temperature: 1 };
`,
  },
  expected: [
    "vitest.config.ts:5",
    "vitest.config.ts:6",
    "vitest.config.ts:7",
    "packages/engine/src/sampling.ts:1",
    "packages/test-servers/src/llama-server/launch.py:3",
    "apps/hearth/src/generation/generate.model.test.ts:2",
    "bench/bare-binding-process.ts:3",
    "bench/llama.ts:3",
    "conformance/servers.ts:1",
    "conformance/servers.ts:2",
    "conformance/servers.ts:3",
    "conformance/servers.ts:4",
    "conformance/processes.ts:4",
    "conformance/processes.ts:5",
    "conformance/processes.ts:7",
    "conformance/processes.ts:7",
    "conformance/processes.ts:9",
    "conformance/processes.ts:11",
    "conformance/processes.ts:13",
    "conformance/processes.ts:14",
    "conformance/requests.ts:1",
    "conformance/requests.ts:2",
    "conformance/requests.ts:3",
    "conformance/requests.ts:4",
    "packages/test-servers/src/stop-programs.integration.test.ts:1",
  ],
};
