import { recordFigure } from "@hearth-and-keep/figures";
import { preparePython } from "@hearth-and-keep/test-servers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { minilm, startTestServer, type TestServer } from "../../apps/hearth/src/test/start-test-server.ts";
import { type ClientStage, startStage } from "../client-stage.ts";
import { expectedOutcomes } from "./expected-outcomes.ts";
import { runCalls } from "./run-calls.ts";

let stage: ClientStage;
let keyless: TestServer;
beforeAll(async () => {
  await preparePython();
  stage = await startStage();
  keyless = await startTestServer({ models: { minilm } });
}, 900_000);
afterAll(async () => {
  await keyless[Symbol.asyncDispose]();
  await stage[Symbol.asyncDispose]();
});

test.each(Object.entries(expectedOutcomes))(
  "every call of PyPI %s is answered, and refused without the right key",
  async (client, expected) => {
    const outcomes = await runCalls(`${client}-calls.py`, { ...stage, keyless });
    expect(outcomes).toEqual(expected);
    const needed = Object.keys(expected).length;
    recordFigure({
      claim: "families 3",
      text: `PyPI ${client}: ${Object.keys(outcomes).length} of ${needed} calls answered or refused as they should be`,
      counted: { reached: Object.keys(outcomes).length, needed },
    });
  },
  240_000,
);
