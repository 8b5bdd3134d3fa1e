import { type EngineFailure } from "@hearth-and-keep/engine";
import type { FakeEngineScript } from "@hearth-and-keep/engine/testing";
import { recordFigure } from "@hearth-and-keep/figures";
import { errorCodeHeader, type FailureCode, failureCodes } from "@hearth-and-keep/hearth-contract";
import { afterAll, beforeAll, expect, test } from "vitest";
import { accessKey } from "../../access/keys.ts";
import type { RequestFailure } from "../../failures.ts";
import { CallError } from "../../server-client/call-failure.ts";
import { openServerClient, type ServerClient } from "../../server-client/server-client.ts";
import { exitCodes } from "../../terminal/exit-codes.ts";
import { formatCallFailure } from "../../terminal/format-error.ts";
import { startTestServer, type TestServer, tiny } from "../../test/start-test-server.ts";
import { getRequest, type ParsedResponse, sendRequest } from "./test/send-request.ts";

/** One failure of every kind, and the terminal's suggestion; empty if the message is sufficient. */
const cases: {
  readonly [Code in FailureCode]: readonly [
    failure: Extract<RequestFailure, { kind: Code }>,
    nextStep: string,
  ];
} = {
  "route-not-found": [{ kind: "route-not-found" }, "the server may be an older version"],
  "method-not-allowed": [
    { kind: "method-not-allowed", allowed: ["GET"] },
    "the server may be an older version",
  ],
  "body-invalid": [{ kind: "body-invalid", reason: "too-large" }, "send less at once"],
  "request-invalid": [{ kind: "request-invalid", field: "model", reason: "is required" }, ""],
  "parameter-invalid": [{ kind: "parameter-invalid", parameter: "seed", reason: "not a number" }, ""],
  "parameter-out-of-range": [{ kind: "parameter-out-of-range", parameter: "topP", min: 0, max: 1 }, ""],
  "capability-missing": [
    { kind: "capability-missing", model: "qwen9", capability: "vision" },
    'run "hearth show qwen9" to see what it supports',
  ],
  "image-unreadable": [{ kind: "image-unreadable" }, ""],
  "audio-unreadable": [{ kind: "audio-unreadable" }, ""],
  "not-supported": [
    { kind: "not-supported", feature: "images" },
    'run "hearth show MODEL" to see what it supports',
  ],
  "prompt-too-long": [
    { kind: "prompt-too-long", promptTokens: 5000, contextTokens: 4096 },
    "enlarge the context with /set parameter num_ctx 8192",
  ],
  "schema-unsupported": [{ kind: "schema-unsupported", keyword: "not", location: "/a" }, ""],
  "grammar-invalid": [{ kind: "grammar-invalid", reason: "a loop" }, ""],
  "grammar-too-slow": [{ kind: "grammar-too-slow", seconds: 5 }, ""],
  "grammar-rejected": [{ kind: "grammar-rejected" }, ""],
  "grammars-suspended": [{ kind: "grammars-suspended", retryAfterSeconds: 90 }, "try again in 90 s"],
  "template-failed": [{ kind: "template-failed", reason: "roles must alternate" }, ""],
  "stored-object-not-found": [
    { kind: "stored-object-not-found", object: "response", reason: 'with id "x" not found' },
    "",
  ],
  "response-not-stored": [{ kind: "response-not-stored", reason: "the disk is full" }, ""],
  "batch-storage-full": [{ kind: "batch-storage-full", reason: "delete some" }, ""],
  "key-missing": [{ kind: "key-missing" }, "set HEARTH_API_KEY"],
  "key-invalid": [{ kind: "key-invalid" }, "correct the key in HEARTH_API_KEY"],
  "keys-conflict": [{ kind: "keys-conflict" }, "correct the key in HEARTH_API_KEY"],
  "admin-key-required": [{ kind: "admin-key-required" }, "use an admin key"],
  "site-forbidden": [{ kind: "site-forbidden", header: "host" }, "--allowed-hosts"],
  "rate-limited": [
    { kind: "rate-limited", limit: "requests", maximum: 5, retryAfterSeconds: 7 },
    "try again in 7 s",
  ],
  "budget-exhausted": [{ kind: "budget-exhausted", period: "day", maximum: 5, retryAfterSeconds: 7 }, ""],
  "name-invalid": [{ kind: "name-invalid", name: "../x" }, "check the name"],
  "digest-invalid": [{ kind: "digest-invalid", digest: "x" }, ""],
  "digest-mismatch": [{ kind: "digest-mismatch", expected: "a", actual: "b" }, "try again in a moment"],
  "model-not-found": [{ kind: "model-not-found", model: "qwen9" }, 'run "hearth pull qwen9" to download it'],
  "model-remote": [{ kind: "model-remote", model: "qwen9" }, "use a local model"],
  "remote-models-disabled": [{ kind: "remote-models-disabled", model: "qwen9" }, "use a local model"],
  "model-on-remote-engine": [{ kind: "model-on-remote-engine", model: "qwen9" }, "--engines-file"],
  "model-source-missing": [{ kind: "model-source-missing" }, 'run "hearth create NAME --from FILE.gguf"'],
  "model-file-invalid": [{ kind: "model-file-invalid", reason: "no GGUF" }, "only GGUF files are supported"],
  "file-dialect-unsupported": [
    { kind: "file-dialect-unsupported", architecture: "x", advice: "pull qwen9 instead" },
    "",
  ],
  "manifest-invalid": [
    { kind: "manifest-invalid", model: "qwen9", reason: "no JSON" },
    'run "hearth remove qwen9" and "hearth pull qwen9"',
  ],
  "blob-missing": [
    { kind: "blob-missing", digest: "sha256:ab" },
    'run "hearth remove MODEL" and "hearth pull MODEL"',
  ],
  "store-read-only": [{ kind: "store-read-only" }, "belongs to an Ollama"],
  "store-full": [{ kind: "store-full" }, 'run "hearth prune" to delete unused files'],
  "store-busy": [{ kind: "store-busy" }, "try again in 5 s"],
  "store-io-error": [{ kind: "store-io-error" }, '"hearth doctor" to check this machine'],
  "address-forbidden": [
    { kind: "address-forbidden", host: "models.local", reason: "private" },
    "hearth serve --private-registries models.local",
  ],
  "registry-unreachable": [
    { kind: "registry-unreachable", host: "models.example", reason: "timed-out" },
    "check your connection and try again",
  ],
  "registry-refused": [
    { kind: "registry-refused", host: "models.example", status: 403 },
    "check that the model is public",
  ],
  "registry-response-invalid": [
    { kind: "registry-response-invalid", host: "models.example", reason: "no JSON" },
    "check the name",
  ],
  "remote-model-not-found": [{ kind: "remote-model-not-found", model: "qwen9" }, "check the name"],
  "transfer-corrupted": [{ kind: "transfer-corrupted", digest: "sha256:ab" }, "try again in a moment"],
  "server-busy": [{ kind: "server-busy", retryAfterSeconds: 1 }, "try again in 1 s"],
  "queue-full": [{ kind: "queue-full", waiting: 64, retryAfterSeconds: 3 }, "try again in 3 s"],
  "server-stopping": [{ kind: "server-stopping" }, "try again in 5 s"],
  "model-invalid": [
    { kind: "model-invalid", reason: "no tensors" },
    'run "hearth remove MODEL" and "hearth pull MODEL"',
  ],
  "model-quarantined": [
    { kind: "model-quarantined", reason: "it crashed", retryAfterSeconds: 30 },
    "try again in 30 s",
  ],
  "insufficient-memory": [{ kind: "insufficient-memory", neededBytes: 3e9 }, "use a smaller model"],
  "load-timed-out": [{ kind: "load-timed-out", seconds: 60 }, "try again in a moment"],
  "sandbox-unavailable": [{ kind: "sandbox-unavailable", reason: "it would run as root" }, ""],
  "engine-crashed": [
    { kind: "engine-crashed", exitCode: 1, signal: null },
    'run "hearth logs" to see the cause',
  ],
  "engine-hung": [{ kind: "engine-hung", seconds: 60 }, 'run "hearth logs" to see the cause'],
  "gpu-failed": [{ kind: "gpu-failed", reason: "ErrorDeviceLost" }, "try again"],
  "engine-unloaded": [{ kind: "engine-unloaded" }, "try again in 1 s"],
  "engines-unavailable": [{ kind: "engines-unavailable", retryAfterSeconds: 2 }, "try again in 2 s"],
  "internal-error": [{ kind: "internal-error" }, 'run "hearth logs" to see the cause'],
};

const covered: FailureCode[] = [];
let failure: RequestFailure | undefined;
let hasStarted = false;
let server: TestServer;
let client: ServerClient;

/** Fails with the failure of the current test, before the first token or after it. */
const script: FakeEngineScript = () => [
  ...(hasStarted ? [{ do: "write", text: "Hel" } as const] : []),
  // The server passes on whatever an engine throws, so every failure can be tested this way.
  ...(failure === undefined ? [] : [{ do: "fail", failure: failure as EngineFailure } as const]),
  { do: "end", reason: "stop" },
];

beforeAll(async () => {
  server = await startTestServer({ models: { tiny }, script });
  client = await openServerClient({ host: server.url });
});

afterAll(async () => {
  await client?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
});

const generate = (stream: boolean, accept = "application/json"): Promise<ParsedResponse> =>
  sendRequest(
    server,
    { path: "/api/generate", headers: { accept, "content-type": "application/json" } },
    { model: "tiny", prompt: "Hi", stream },
  );

async function failedCall(): Promise<CallError> {
  const body = { model: "tiny", prompt: "Hi", stream: false };
  const error = await client.request("/api/generate", body).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(CallError);
  // Checked above.
  return error as CallError;
}

test.each(failureCodes)(
  "%s: the code is in the response and in a stream, and determines the terminal's suggestion",
  async (code) => {
    const [example, nextStep] = cases[code];
    failure = example;
    hasStarted = false;
    const { last, status } = await generate(false);
    expect(last).toMatchObject({ error: expect.stringMatching(/./u), code });
    expect(status).toBeGreaterThanOrEqual(400);
    const error = await failedCall();
    expect(error.failure).toMatchObject({ kind: "error-response", code, status });
    const { messages, nextSteps } = formatCallFailure(error.failure);
    expect([...messages, ...nextSteps].join("\n")).not.toMatch(/undefined|NaN|\[object/u);
    expect(nextSteps.join("\n")).toContain(nextStep);
    expect(nextSteps).toHaveLength(nextStep === "" ? 0 : 1);
    hasStarted = true;
    const streamed = await generate(true);
    expect(streamed.status).toBe(200);
    expect(streamed.objects[0]).toMatchObject({ response: "Hel" });
    expect(streamed.last).toEqual(last);
    const events = await generate(true, "text/event-stream");
    expect(events.text).toContain(`data: ${JSON.stringify(last)}\n\n`);
    covered.push(code);
  },
);

test("a response without an error has no code, complete and streamed", async () => {
  failure = undefined;
  hasStarted = true;
  expect((await generate(false)).last).not.toHaveProperty("code");
  for (const object of (await generate(true)).objects) expect(object).not.toHaveProperty("code");
  expect((await getRequest(server, "/api/tags")).last).not.toHaveProperty("code");
});

const codeOf = ({ status, last }: ParsedResponse): readonly unknown[] => [status, last["code"]];

test("routes, methods, blobs, keys and hosts below /api fail with a code", async () => {
  await using locked = await startTestServer({
    models: {},
    script,
    access: { keys: [accessKey("one", "secret")] },
  });
  const missing = await getRequest(server, "/api/nothing");
  expect(codeOf(missing)).toEqual([404, "route-not-found"]);
  expect(missing.last["error"]).toBe("404 page not found");
  const wrongMethod = await getRequest(server, "/api/chat");
  expect(codeOf(wrongMethod)).toEqual([405, "method-not-allowed"]);
  expect(wrongMethod.headers.get("allow")).toBe("POST");
  expect((await getRequest(server, "/nothing")).text).toBe("404 page not found");
  expect(codeOf(await sendRequest(server, "/api/blobs/sha256:x", "x"))).toEqual([400, "digest-invalid"]);
  expect(codeOf(await getRequest(locked, "/api/tags"))).toEqual([401, "key-missing"]);
  expect(codeOf(await getRequest(locked, "/api/tags", { authorization: "Bearer wrong" }))).toEqual([
    401,
    "key-invalid",
  ]);
  expect(codeOf(await getRequest(server, "/api/tags", { origin: "https://evil.example" }))).toEqual([
    403,
    "site-forbidden",
  ]);
});

test("a HEAD response, which has no body, carries the code in a header", async () => {
  const digest = `sha256:${"0".repeat(64)}`;
  const response = await fetch(`${server.url}/api/blobs/${digest}`, { method: "HEAD" });
  expect([response.status, response.headers.get(errorCodeHeader)]).toEqual([404, "blob-missing"]);
});

test("for servers without codes, the terminal uses the message and the status, and does not guess from the text", () => {
  const message = 'model "qwen9" not found, try pulling it first';
  const url = "http://localhost:11434";
  const other = { kind: "error-response", url, message, code: undefined, details: {} } as const;
  expect(formatCallFailure({ ...other, status: 500 })).toEqual({
    messages: [`Server error: ${message}`],
    nextSteps: [],
    exitCode: exitCodes.serverError,
  });
  expect(formatCallFailure({ ...other, status: 503 }).nextSteps).toEqual(["try again in a moment"]);
});

test("every kind of failure was covered", () => {
  expect(covered.toSorted()).toEqual([...failureCodes].toSorted());
  recordFigure({
    claim: "plain 3",
    text: `${covered.length} of ${failureCodes.length} kinds of failure have their code in the response and in a stream, and the terminal's suggestion follows from it`,
    counted: { reached: covered.length, needed: failureCodes.length },
  });
});
