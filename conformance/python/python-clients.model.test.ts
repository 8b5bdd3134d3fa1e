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
  type ClientFixture,
  realEngine,
  recordStoreCalls,
  rightKey,
  startClientFixture,
  storeRoutes,
  tallyCalls,
} from "../client-fixture.ts";
import { expectedOutcomes } from "./expected-outcomes.ts";
import { runCalls } from "./run-calls.ts";

let fixture: ClientFixture;
let keyless: TestServer;
let registry: ModelRegistry;
beforeAll(async () => {
  await preparePython();
  fixture = await startClientFixture();
  keyless = await startTestServer({ models: { minilm }, ...(await realEngine()) });
  registry = await startModelRegistry();
}, 900_000);
afterAll(async () => {
  await keyless[Symbol.asyncDispose]();
  await fixture[Symbol.asyncDispose]();
  await registry[Symbol.asyncDispose]();
});

test.each(Object.entries(expectedOutcomes))(
  "every call of PyPI %s succeeds, and is rejected without the right key",
  async (client, expected) => {
    const outcomes = await runCalls(`${client}-calls.py`, { ...fixture, keyless, registry });
    expect(outcomes).toEqual(expected);
    const needed = Object.keys(expected).length;
    recordFigure({
      claim: "families 3",
      text: `PyPI ${client}: ${Object.keys(outcomes).length} of ${needed} calls with the expected outcome`,
      counted: { reached: Object.keys(outcomes).length, needed },
    });
  },
  240_000,
);

/** Nightly: a gigabyte, which takes longer than Node's default request timeout. Otherwise just enough to be slow. */
const upload =
  scale === "nightly"
    ? { bytes: 1024 ** 3, bytesPerSecond: 3 * 1024 ** 2, minSeconds: 301 }
    : { bytes: 24 * 1024 ** 2, bytesPerSecond: 8 * 1024 ** 2, minSeconds: 2 };

test("a large upload with PyPI ollama may take longer than five minutes", async () => {
  await using folder = await makeTemporaryFolder("upload");
  const file = join(folder.path, "large");
  await writeFile(file, "");
  await truncate(file, upload.bytes);
  const { bytesPerSecond } = upload;
  const slow = { kind: "throttle", bytesPerSecond, direction: "to-target" } as const;
  await using proxy = await startFaultProxy({ target: fixture.real.url, faults: [slow] });
  const script = fileURLToPath(new URL("slow-upload.py", import.meta.url));
  const printed = await runPython(script, [proxy.url, rightKey, file], { timeoutSeconds: 900 });
  const [digest = "", seconds = ""] = printed.trim().split(" ");
  const headers = { authorization: `Bearer ${rightKey}` };
  const stored = await fetch(`${fixture.real.url}/api/blobs/${digest}`, { method: "HEAD", headers });
  expect(stored.status).toBe(200);
  expect(Number(seconds)).toBeGreaterThan(upload.minSeconds);
  recordFigure({
    claim: "store 11",
    text: `${Math.round(upload.bytes / 1024 ** 2)} MiB uploaded by PyPI ollama in ${Math.round(Number(seconds))} s`,
  });
}, 1_000_000);

test("every model store endpoint was called by a Python client", async () => {
  await expect.poll(() => tallyCalls(fixture).succeeded).toEqual(expect.arrayContaining(storeRoutes));
  recordStoreCalls("PyPI ollama", tallyCalls(fixture));
});
