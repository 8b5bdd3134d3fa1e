import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { connect } from "node:net";
import { testModel } from "@hearth-and-keep/test-servers";
import { beforeAll, describe, expect, test } from "vitest";
import { writeAdapter } from "../../models/test/adapter-file.ts";
import { startTestServer, type TestServer, tiny } from "../../test/start-test-server.ts";
import { fakeOutput, getRequest, sendRequest } from "./test/send-request.ts";

const digestOf = (content: Uint8Array) => `sha256:${createHash("sha256").update(content).digest("hex")}`;
const zeros = `sha256:${"0".repeat(64)}`;
let weights: Buffer;
beforeAll(async () => {
  weights = await readFile(await testModel("tiny-llama.gguf"));
});

async function send(server: TestServer, digest: string, content: Uint8Array): Promise<number> {
  const response = await fetch(`${server.url}/api/blobs/${digest}`, { method: "POST", body: content });
  await response.arrayBuffer();
  return response.status;
}

async function has(server: TestServer, digest: string): Promise<number> {
  return (await fetch(`${server.url}/api/blobs/${digest}`, { method: "HEAD" })).status;
}

describe("blobs", () => {
  test("a blob is uploaded once, exists from then on, and is rejected if it does not match its digest", async () => {
    await using server = await startTestServer({ models: {}, script: fakeOutput() });
    const digest = digestOf(weights);
    expect(await has(server, digest)).toBe(404);
    expect([await send(server, digest, weights), await send(server, digest, weights)]).toEqual([201, 200]);
    expect(await has(server, digest)).toBe(200);
    const mismatch = await sendRequest(server, `/api/blobs/${zeros}`, "other");
    expect(mismatch).toMatchObject({
      status: 400,
      last: { error: expect.stringMatching(/^digest mismatch/u), code: "digest-mismatch" },
    });
    expect(await has(server, zeros)).toBe(404);
  });

  test.each(["sha256:abc", "sha256:..%2f..%2fetc%2fpasswd", "md5:00", `${zeros}0`])(
    "%s is rejected as a digest, for HEAD and POST",
    async (digest) => {
      await using server = await startTestServer({ models: {}, script: fakeOutput() });
      expect(await has(server, digest)).toBe(400);
      const { status, last } = await sendRequest(server, `/api/blobs/${digest}`, "x");
      expect([status, last]).toEqual([400, { error: "invalid digest format", code: "digest-invalid" }]);
    },
  );

  test("an incomplete upload is not stored", async () => {
    await using server = await startTestServer({ models: {}, script: fakeOutput() });
    const content = Buffer.from("half");
    const digest = digestOf(content);
    const { port, hostname } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    socket.end(`POST /api/blobs/${digest} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 8\r\n\r\nhalf`);
    await expect
      .poll(() => server.logRecords().some(({ route }) => String(route).startsWith("POST")))
      .toBe(true);
    expect(await has(server, digest)).toBe(404);
    expect(await send(server, digest, content)).toBe(201);
  });
});

describe("create", () => {
  test("reports every step with the recorded texts, from uploaded files and from another model", async () => {
    await using server = await startTestServer({ models: {}, script: fakeOutput("4") });
    const digest = digestOf(weights);
    await send(server, digest, weights);
    const created = await sendRequest(server, "/api/create", { model: "t", files: { "tiny.gguf": digest } });
    expect(created.headers.get("content-type")).toBe("application/x-ndjson");
    expect(created.objects.map(({ status }) => status)).toEqual([
      "parsing GGUF",
      `using existing layer ${digest}`,
      "writing manifest",
      "success",
    ]);
    const system = "You are terse.";
    const body = { name: "mine", from: "t", system, parameters: { temperature: 0 }, license: ["a", "b"] };
    const alias = await sendRequest(server, "/api/create", body);
    expect(alias.objects.map(({ status }) => status)).toEqual([
      `using existing layer ${digest}`,
      `creating new layer ${digestOf(Buffer.from(system))}`,
      ...["a", "b"].map((text) => `creating new layer ${digestOf(Buffer.from(text))}`),
      `creating new layer ${digestOf(Buffer.from('{"temperature":0}\n'))}`,
      "writing manifest",
      "success",
    ]);
    const { last } = await sendRequest(server, "/api/show", { model: "mine" });
    expect(last).toMatchObject({ system, license: "a\nb", details: { parent_model: "t:latest" } });
    await sendRequest(server, "/api/chat", { model: "mine", messages: [{ role: "user", content: "Hi" }] });
    expect(server.requests.at(-1)).toMatchObject({ sampling: { temperature: 0 } });
  });

  test("without streaming sends only the last status", async () => {
    await using server = await startTestServer({ models: { tiny }, script: fakeOutput() });
    const { objects } = await sendRequest(server, "/api/create", { model: "m", from: "tiny", stream: false });
    expect(objects).toEqual([{ status: "success" }]);
    expect((await getRequest(server, "/api/tags")).text).toContain('"m:latest"');
  });

  test.each([
    [{ model: "m" }, "model-source-missing", "neither 'from' or 'files' was specified"],
    [
      { model: "m", modelfile: "FROM tiny" },
      "model-source-missing",
      "neither 'from' or 'files' was specified",
    ],
    [{ from: "tiny" }, "request-invalid", "invalid model name"],
    [{ model: "a/b/c/d/e::", from: "tiny" }, "request-invalid", "invalid model name"],
    [{ model: "m", from: "a/b/c/d/e::" }, "name-invalid", "invalid model name"],
    [{ model: "m", files: {} }, "request-invalid", "no files provided to convert"],
    [{ model: "m", files: { "../x": zeros } }, "request-invalid", "file path must be relative"],
    [{ model: "m", files: { "/x": zeros } }, "request-invalid", "file path must be relative"],
    [{ model: "m", files: { x: zeros } }, "blob-missing", `blob "${zeros}" not found`],
    [{ model: "m", files: { x: "sha256:.." } }, "digest-invalid", "invalid digest format"],
    [
      { model: "m", from: "tiny", parameters: { num_ctx: "x" } },
      "parameter-invalid",
      expect.stringContaining("num_ctx"),
    ],
    [
      { model: "m", from: "tiny", quantize: "Q4_K_M" },
      "parameter-invalid",
      expect.stringContaining("does not convert"),
    ],
    [
      { model: "m", from: "tiny", messages: [{ role: "tool" }] },
      "request-invalid",
      expect.stringContaining("role"),
    ],
  ])("%j is rejected with 400 and the code %s", async (body, code, error) => {
    await using server = await startTestServer({ models: { tiny }, script: fakeOutput() });
    const streamed = await sendRequest(server, "/api/create", body);
    expect([streamed.status, streamed.last]).toEqual([400, { error, code }]);
    const complete = await sendRequest(server, "/api/create", { ...body, stream: false });
    expect([complete.status, complete.last]).toEqual([400, { error, code }]);
  });

  test("pulls a missing base model first, under the same rules as any pull", async () => {
    await using server = await startTestServer({ models: {}, script: fakeOutput() });
    const body = { model: "m", from: "127.0.0.1:9/team/gone" };
    const { objects } = await sendRequest(server, "/api/create", body);
    expect(objects).toEqual([
      { status: "pulling manifest" },
      {
        error: expect.stringContaining("--private-registries"),
        code: "address-forbidden",
        host: "127.0.0.1:9",
        reason: "private",
      },
    ]);
    expect((await sendRequest(server, "/api/create", { ...body, stream: false })).status).toBe(403);
  });

  test("rejects a blob that is not a model", async () => {
    await using server = await startTestServer({ models: {}, script: fakeOutput() });
    const content = Buffer.from("no model");
    await send(server, digestOf(content), content);
    const { objects } = await sendRequest(server, "/api/create", {
      model: "m",
      files: { x: digestOf(content) },
    });
    expect(objects).toEqual([
      { status: "parsing GGUF" },
      { error: "supplied file was not in GGUF format", code: "model-file-invalid" },
    ]);
    const complete = { model: "m", files: { x: digestOf(content) }, stream: false };
    expect((await sendRequest(server, "/api/create", complete)).status).toBe(400);
  });

  test("applies an adapter to the weights, on real weights", async () => {
    await using server = await startTestServer({ models: { tiny } });
    const adapter = writeAdapter();
    await send(server, digestOf(adapter), adapter);
    const adapters = { "a.gguf": digestOf(adapter) };
    const created = await sendRequest(server, "/api/create", { model: "tuned", from: "tiny", adapters });
    expect(created.last).toEqual({ status: "success" });
    const options = { seed: 1, temperature: 0, num_predict: 12 };
    const generate = (model: string) =>
      sendRequest(server, "/api/generate", {
        model,
        prompt: "One two three",
        raw: true,
        stream: false,
        options,
      });
    const [plain, tuned, again] = [await generate("tiny"), await generate("tuned"), await generate("tuned")];
    expect(tuned.status).toBe(200);
    expect(tuned.last["response"]).not.toBe(plain.last["response"]);
    expect(tuned.last["response"]).toBe(again.last["response"]);
  });
});
