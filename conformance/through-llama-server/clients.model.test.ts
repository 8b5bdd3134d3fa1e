/**
 * @module
 * The official clients once more, with the real weights in llama.cpp's own server instead of the binding: the same
 * files make the same calls, and every loaded model reports which engine runs it.
 * Nothing imports from here.
 */
import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import { preparePython } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { runTests } from "../../claims/prove-by-tests.ts";

/** Without Claude Code, which runs on a fake engine because no small model can drive it. */
const everyClient = {
  clients: 11,
  suites: [
    "ai-anthropic-npm",
    "ai-openai-compatible-npm",
    "anthropic-npm",
    "langchain-ollama-npm",
    "langchain-openai-npm",
    "ollama-npm",
    "openai-endpoints-npm",
    "openai-npm",
    "python/python-clients",
  ],
};
/**
 * One client per API in CI, and of two APIs a small one: all of them run on the binding as well, and the rules of the
 * engine port are tested on llama.cpp's own server too.
 */
const chosen = chooseSize({
  ci: { clients: 3, suites: ["ai-anthropic-npm", "langchain-ollama-npm", "openai-npm"] },
  show: everyClient,
  nightly: everyClient,
});
const files = chosen.suites.map((name) => `conformance/${name}.model.test.ts`);

test("every call of every official client has the same outcome on llama.cpp's own server", async () => {
  await preparePython();
  const run = await runTests(files, { HEARTH_TEST_ENGINE: "xllamacpp" });
  expect(run.failed).toBe(0);
  expect(run.files.length).toBe(files.length);
  const loads = run.figures.filter(({ claim }) => claim === "loads");
  expect(new Set(loads.map(({ text }) => text))).toEqual(new Set(["llama.cpp's own server"]));
  expect(loads.length).toBeGreaterThanOrEqual(files.length);
  const calls = run.figures.flatMap(({ claim, text, counted }) =>
    claim === "families 3" && counted !== undefined ? [{ client: text.split(":", 1)[0], ...counted }] : [],
  );
  const reached = calls.reduce((sum, each) => sum + each.reached, 0);
  const needed = calls.reduce((sum, each) => sum + each.needed, 0);
  const clients = new Set(calls.map(({ client }) => client));
  expect(clients.size).toBe(chosen.clients);
  expect(reached).toBe(needed);
  recordFigure({
    claim: "engines 2",
    text: `${reached} of ${needed} calls of ${clients.size} clients (npm and PyPI) have the same outcome as with the binding, ${loads.length} models loaded by llama.cpp's own server; ${run.passed} of ${run.passed + run.failed} of their tests passed`,
    counted: { reached, needed },
  });
}, 600_000);
