import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { connect } from "node:net";
import { testModel } from "@hearth-and-keep/test-servers";
import { beforeAll, describe, expect, test } from "vitest";
import { writeAdapter } from "../../models/test/adapter-file.ts";
import { startTestServer, type TestServer, tiny } from "../../test/start-test-server.ts";
import { ask, look, saying } from "./test/ask.ts";

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
  test("a blob is taken once, is there from then on, and is refused when it is not what its digest says", async () => {
    await using server = await startTestServer({ models: {}, script: saying() });
    const digest = digestOf(weights);
    expect(await has(server, digest)).toBe(404);
    expect([await send(server, digest, weights), await send(server, digest, weights)]).toEqual([201, 200]);
    expect(await has(server, digest)).toBe(200);
    const mismatch = await ask(server, `/api/blobs/${zeros}`, "other");
    expect(mismatch).toMatchObject({
      status: 400,
      last: { error: expect.stringMatching(/^digest mismatch/u) },
    });
    expect(await has(server, zeros)).toBe(404);
  });

  test.each(["sha256:abc", "sha256:..%2f..%2fetc%2fpasswd", "md5:00", `${zeros}0`])(
    "%s is no digest, to ask for and to send",
    async (digest) => {
      await using server = await startTestServer({ models: {}, script: saying() });
      expect(await has(server, digest)).toBe(400);
      const { status, last } = await ask(server, `/api/blobs/${digest}`, "x");
      expect([status, last]).toEqual([400, { error: "invalid digest format" }]);
    },
  );

  test("an upload that ends early is not kept", async () => {
    await using server = await startTestServer({ models: {}, script: saying() });
    const content = Buffer.from("half");
    const digest = digestOf(content);
    const { port, hostname } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    socket.end(`POST /api/blobs/${digest} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 8\r\n\r\nhalf`);
    await expect.poll(() => server.logged().some(({ route }) => String(route).startsWith("POST"))).toBe(true);
    expect(await has(server, digest)).toBe(404);
    expect(await send(server, digest, content)).toBe(201);
  });
});

describe("create", () => {
  test("tells every step in the recorded words, of uploaded files and of another model", async () => {
    await using server = await startTestServer({ models: {}, script: saying("4") });
    const digest = digestOf(weights);
    await send(server, digest, weights);
    const made = await ask(server, "/api/create", { model: "t", files: { "tiny.gguf": digest } });
    expect(made.headers.get("content-type")).toBe("application/x-ndjson");
    expect(made.objects.map(({ status }) => status)).toEqual([
      "parsing GGUF",
      `using existing layer ${digest}`,
      "writing manifest",
      "success",
    ]);
    const system = "You are terse.";
    const body = { name: "mine", from: "t", system, parameters: { temperature: 0 }, license: ["a", "b"] };
    const alias = await ask(server, "/api/create", body);
    expect(alias.objects.map(({ status }) => status)).toEqual([
      `using existing layer ${digest}`,
      `creating new layer ${digestOf(Buffer.from(system))}`,
      ...["a", "b"].map((text) => `creating new layer ${digestOf(Buffer.from(text))}`),
      `creating new layer ${digestOf(Buffer.from('{"temperature":0}\n'))}`,
      "writing manifest",
      "success",
    ]);
    const { last } = await ask(server, "/api/show", { model: "mine" });
    expect(last).toMatchObject({ system, license: "a\nb", details: { parent_model: "t:latest" } });
    await ask(server, "/api/chat", { model: "mine", messages: [{ role: "user", content: "Hi" }] });
    expect(server.requests.at(-1)).toMatchObject({ sampling: { temperature: 0 } });
  });

  test("without a stream only the end is told", async () => {
    await using server = await startTestServer({ models: { tiny }, script: saying() });
    const { objects } = await ask(server, "/api/create", { model: "m", from: "tiny", stream: false });
    expect(objects).toEqual([{ status: "success" }]);
    expect((await look(server, "/api/tags")).text).toContain('"m:latest"');
  });

  test.each([
    [{ model: "m" }, 400, "neither 'from' or 'files' was specified"],
    [{ model: "m", modelfile: "FROM tiny" }, 400, "neither 'from' or 'files' was specified"],
    [{ from: "tiny" }, 400, "invalid model name"],
    [{ model: "a/b/c/d/e::", from: "tiny" }, 400, "invalid model name"],
    [{ model: "m", from: "a/b/c/d/e::" }, 400, "invalid model name"],
    [{ model: "m", files: {} }, 400, "no files provided to convert"],
    [{ model: "m", files: { "../x": zeros } }, 400, "file path must be relative"],
    [{ model: "m", files: { "/x": zeros } }, 400, "file path must be relative"],
    [{ model: "m", files: { x: zeros } }, 400, `blob "${zeros}" not found`],
    [{ model: "m", files: { x: "sha256:.." } }, 400, "invalid digest format"],
    [{ model: "m", from: "tiny", parameters: { num_ctx: "x" } }, 400, expect.stringContaining("num_ctx")],
    [{ model: "m", from: "tiny", quantize: "Q4_K_M" }, 400, expect.stringContaining("does not convert")],
    [{ model: "m", from: "tiny", messages: [{ role: "tool" }] }, 400, expect.stringContaining("role")],
  ])("%j is refused with %d in words", async (body, status, error) => {
    await using server = await startTestServer({ models: { tiny }, script: saying() });
    const streamed = await ask(server, "/api/create", body);
    expect([streamed.status, streamed.last]).toEqual([status, { error }]);
    const whole = await ask(server, "/api/create", { ...body, stream: false });
    expect([whole.status, whole.last]).toEqual([status, { error }]);
  });

  test("a model to start from that is not here is pulled first, by the rules of every pull", async () => {
    await using server = await startTestServer({ models: {}, script: saying() });
    const body = { model: "m", from: "127.0.0.1:9/team/gone" };
    const { objects } = await ask(server, "/api/create", body);
    expect(objects).toEqual([
      { status: "pulling manifest" },
      { error: expect.stringContaining("--private-registries") },
    ]);
    expect((await ask(server, "/api/create", { ...body, stream: false })).status).toBe(403);
  });

  test("a blob that is no model is refused in words", async () => {
    await using server = await startTestServer({ models: {}, script: saying() });
    const content = Buffer.from("no model");
    await send(server, digestOf(content), content);
    const { objects } = await ask(server, "/api/create", { model: "m", files: { x: digestOf(content) } });
    expect(objects).toEqual([{ status: "parsing GGUF" }, { error: "supplied file was not in GGUF format" }]);
    const whole = { model: "m", files: { x: digestOf(content) }, stream: false };
    expect((await ask(server, "/api/create", whole)).status).toBe(400);
  });

  test("an adapter changes what the weights say, on real weights", async () => {
    await using server = await startTestServer({ models: { tiny } });
    const adapter = writeAdapter();
    await send(server, digestOf(adapter), adapter);
    const adapters = { "a.gguf": digestOf(adapter) };
    const made = await ask(server, "/api/create", { model: "tuned", from: "tiny", adapters });
    expect(made.last).toEqual({ status: "success" });
    const options = { seed: 1, temperature: 0, num_predict: 12 };
    const say = (model: string) =>
      ask(server, "/api/generate", { model, prompt: "One two three", raw: true, stream: false, options });
    const [plain, tuned, again] = [await say("tiny"), await say("tuned"), await say("tuned")];
    expect(tuned.status).toBe(200);
    expect(tuned.last["response"]).not.toBe(plain.last["response"]);
    expect(tuned.last["response"]).toBe(again.last["response"]);
  });
});
