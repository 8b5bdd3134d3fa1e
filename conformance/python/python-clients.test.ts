import { truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { recordFigure, scale } from "@hearth-and-keep/figures";
import {
  type ModelRegistry,
  makeTemporaryFolder,
  preparePython,
  runPython,
  startFaultProxy,
  startModelRegistry,
} from "@hearth-and-keep/test-servers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { minilm, startTestServer, type TestServer } from "../../apps/hearth/src/test/start-test-server.ts";
import {
  type ClientStage,
  realEngine,
  recordStoreCalls,
  rightKey,
  startStage,
  storeRoutes,
  tallyCalls,
} from "../client-fixture.ts";
import { expectedOutcomes } from "./expected-outcomes.ts";
import { runCalls } from "./run-calls.ts";

let stage: ClientStage;
let keyless: TestServer;
let registry: ModelRegistry;
beforeAll(async () => {
  await preparePython();
  stage = await startStage();
  keyless = await startTestServer({ models: { minilm }, ...(await realEngine()) });
  registry = await startModelRegistry();
}, 900_000);
afterAll(async () => {
  await keyless[Symbol.asyncDispose]();
  await stage[Symbol.asyncDispose]();
  await registry[Symbol.asyncDispose]();
});

test.each(Object.entries(expectedOutcomes))(
  "every call of PyPI %s is answered, and refused without the right key",
  async (client, expected) => {
    const outcomes = await runCalls(`${client}-calls.py`, { ...stage, keyless, registry });
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

/** Nightly a gigabyte that takes longer than Node lets a request take; else as much as shows that it is slow. */
const upload =
  scale === "nightly"
    ? { bytes: 1024 ** 3, bytesPerSecond: 3 * 1024 ** 2, leastSeconds: 301 }
    : { bytes: 24 * 1024 ** 2, bytesPerSecond: 8 * 1024 ** 2, leastSeconds: 2 };

test("a large upload by PyPI ollama may take longer than five minutes", async () => {
  await using folder = await makeTemporaryFolder("upload");
  const file = join(folder.path, "large");
  await writeFile(file, "");
  await truncate(file, upload.bytes);
  const { bytesPerSecond } = upload;
  const slow = { kind: "throttle", bytesPerSecond, direction: "to-target" } as const;
  await using proxy = await startFaultProxy({ target: stage.real.url, faults: [slow] });
  const script = fileURLToPath(new URL("slow-upload.py", import.meta.url));
  const printed = await runPython(script, [proxy.url, rightKey, file], { withinSeconds: 900 });
  const [digest = "", seconds = ""] = printed.trim().split(" ");
  const headers = { authorization: `Bearer ${rightKey}` };
  const kept = await fetch(`${stage.real.url}/api/blobs/${digest}`, { method: "HEAD", headers });
  expect(kept.status).toBe(200);
  expect(Number(seconds)).toBeGreaterThan(upload.leastSeconds);
  recordFigure({
    claim: "store 11",
    text: `${Math.round(upload.bytes / 1024 ** 2)} MiB uploaded by PyPI ollama in ${Math.round(Number(seconds))} s`,
  });
}, 1_000_000);

test("every endpoint of the store was answered to a Python client", async () => {
  await expect.poll(() => tallyCalls(stage).answered).toEqual(expect.arrayContaining(storeRoutes));
  recordStoreCalls("PyPI ollama", tallyCalls(stage));
});
