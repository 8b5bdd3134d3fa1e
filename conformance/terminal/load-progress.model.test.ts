import { expect, test } from "vitest";
import { startSlowServer } from "../../apps/hearth/src/test/slow-load.ts";
import { runHearth } from "./run-hearth.ts";
import { openTerminal } from "./terminal-window.ts";

test("the terminal shows how much of a model is loaded, for a chat and for a single response", async () => {
  await using server = await startSlowServer({ milliseconds: 4000, forgets: true });
  await using window = await openTerminal({ environment: { HEARTH_HOST: server.url } });
  window.type("hearth run tiny Hi");
  window.press("Enter");
  await window.waitFor(/Loading the model ▕█{6} {10}▏ 40 % \d/u, 20);
  await window.waitFor(/^Hello$/mu);
  expect(window.read()).not.toContain("Loading");
  window.type("clear; hearth run tiny");
  window.press("Enter");
  await window.waitFor(/Loading tiny ▕█{6} {10}▏ 40 % \d/u, 20);
  await window.waitFor(/>>>$/u);
  expect(window.read()).not.toContain("Loading");
}, 60_000);

test("a pipe receives only the response, and a failed load its error", async () => {
  await using server = await startSlowServer({ milliseconds: 1300 });
  const environment = { HEARTH_HOST: server.url };
  expect(await runHearth(["run", "tiny", "Hi"], { environment })).toEqual({
    code: 0,
    output: "Hello\n",
    errors: "",
  });
  const failure = { kind: "insufficient-memory", neededBytes: 1e12 } as const;
  await using failing = await startSlowServer({ milliseconds: 1300, failure });
  const failed = await runHearth(["run", "tiny", ""], { environment: { HEARTH_HOST: failing.url } });
  expect(failed.code).not.toBe(0);
  expect(failed.errors).toContain("memory");
}, 60_000);
