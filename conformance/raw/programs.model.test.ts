import { brotliCompressSync, constants, gzipSync, zstdCompressSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ClientFixture, rightKey, startClientFixture } from "../client-fixture.ts";

let fixture: ClientFixture;
beforeAll(async () => {
  fixture = await startClientFixture();
});
afterAll(() => fixture[Symbol.asyncDispose]());

type Probe = { readonly headers?: Readonly<Record<string, string>>; readonly body?: unknown };
type ReceivedResponse = { readonly status: number; readonly type: string; readonly text: string };

async function send(address: string, { headers = {}, body }: Probe = {}): Promise<ReceivedResponse> {
  const response = await fetch(address, {
    headers: { authorization: `Bearer ${rightKey}`, ...headers },
    ...(body === undefined ? {} : { method: "POST", body: encodeBody(body) }),
  });
  return {
    status: response.status,
    type: response.headers.get("content-type") ?? "",
    text: await response.text(),
  };
}

function encodeBody(body: unknown): string | Uint8Array<ArrayBuffer> {
  return body instanceof Uint8Array ? Uint8Array.from(body) : JSON.stringify(body);
}

function eventsOf({ text }: ReceivedResponse): readonly Readonly<Record<string, unknown>>[] {
  return text
    .split("\n")
    .filter((line) => line.startsWith("data: {"))
    .map((line) => JSON.parse(line.slice("data: ".length)));
}

const cityTool = {
  name: "weather",
  description: "Tells the weather",
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
};

function codexMessage(role: string, text: string) {
  return { type: "message", role, content: [{ type: "input_text", text }] };
}

describe("Copilot's chat in VS Code", () => {
  const headers = { "user-agent": "GitHubCopilotChat/0.30.0", "content-type": "application/json" };

  test("reads the version, the models and their metadata, and then streams from the OpenAI API", async () => {
    const { url } = fixture.fake;
    const version = await send(`${url}/api/version`, { headers });
    const [major = 0, minor = 0, patch = 0] = JSON.parse(version.text).version.split(".").map(Number);
    expect(major * 1e6 + minor * 1e3 + patch).toBeGreaterThanOrEqual(6004);
    const { models } = JSON.parse((await send(`${url}/api/tags`, { headers })).text);
    expect(models).toHaveLength(1);
    const [{ model }] = models;
    const shown = JSON.parse((await send(`${url}/api/show`, { headers, body: { model } })).text);
    expect(shown.model_info).toMatchObject({
      "general.architecture": "llama",
      "general.basename": model,
      "llama.context_length": expect.any(Number),
    });
    expect(shown.capabilities).toContain("tools");
    const body = {
      model,
      messages: [
        { role: "system", content: "You are a coding assistant." },
        { role: "user", content: [{ type: "text", text: "How is the weather?" }] },
      ],
      tools: [{ type: "function", function: cityTool }],
      tool_choice: "auto",
      temperature: 0.1,
      top_p: 1,
      n: 1,
      max_tokens: 16,
      stream: true,
      stream_options: { include_usage: true },
    };
    const response = await send(`${url}/v1/chat/completions`, { headers, body });
    expect([response.status, response.type]).toEqual([200, expect.stringContaining("text/event-stream")]);
    const names = [...response.text.matchAll(/"name":"(\w+)"/gu)].map(([, name]) => name);
    expect(names).toEqual(["weather", "weather"]);
    expect(eventsOf(response).at(-1)).toMatchObject({
      choices: [],
      usage: { completion_tokens: expect.any(Number) },
    });
  });
});

describe("Open WebUI", () => {
  const headers = {
    "content-type": "application/json",
    "user-agent": "Python/3.11 aiohttp/3.12.15",
    "x-openwebui-user-name": "Somebody",
    "x-openwebui-user-role": "admin",
  };
  const messages = [{ role: "user", content: "Say hello" }];

  test("as an Ollama connection lists models, chats in NDJSON and embeds", async () => {
    const { url } = fixture.real;
    expect(JSON.parse((await send(`${url}/api/version`, { headers })).text)).toHaveProperty("version");
    const { models } = JSON.parse((await send(`${url}/api/tags`, { headers })).text);
    expect(models.map(({ name }: { name: string }) => name)).toContain("smol:latest");
    const body = {
      model: "smol:latest",
      messages,
      options: { temperature: 0, num_predict: 8, seed: 1 },
      stream: true,
      keep_alive: "5m",
      metadata: { chat_id: "1", features: {} },
    };
    const chat = await send(`${url}/api/chat`, { headers, body });
    expect([chat.status, chat.type]).toEqual([200, expect.stringContaining("application/x-ndjson")]);
    const lines = chat.text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines.map(({ done }) => done).lastIndexOf(false)).toBe(lines.length - 2);
    expect(lines.at(-1)).toMatchObject({ done: true, eval_count: 8, model: "smol:latest" });
    expect(JSON.parse((await send(`${url}/api/ps`, { headers })).text).models).not.toEqual([]);
    const embedded = await send(`${url}/api/embed`, { headers, body: { model: "minilm", input: ["a"] } });
    expect(JSON.parse(embedded.text).embeddings[0]).toHaveLength(384);
  });

  test("as an OpenAI connection lists models and streams a chat, with its own fields", async () => {
    const { url } = fixture.real;
    const listed = JSON.parse((await send(`${url}/v1/models`, { headers })).text);
    expect(listed).toMatchObject({
      object: "list",
      data: expect.arrayContaining([expect.objectContaining({ id: "smol:latest" })]),
    });
    const body = {
      model: "smol:latest",
      messages,
      stream: true,
      max_tokens: 8,
      params: {},
      tool_servers: [],
      features: {},
    };
    const chat = await send(`${url}/v1/chat/completions`, { headers, body });
    expect(chat.status).toBe(200);
    expect(chat.text.endsWith("data: [DONE]\n\n")).toBe(true);
  });
});

describe("Codex", () => {
  const headers = {
    "content-type": "application/json",
    accept: "text/event-stream",
    originator: "codex_cli_rs",
    "user-agent": "codex_cli_rs/0.98.0 (Linux; x86_64)",
    session_id: "0199a213-81c0-7800-8aa1-bbab2a035a53",
  };
  const body = {
    model: "tiny",
    instructions: "You are a coding agent.",
    input: [
      codexMessage("developer", "The sandbox is read-only."),
      codexMessage("user", "How is the weather?"),
    ],
    tools: [
      { type: "function", strict: false, ...cityTool },
      {
        type: "custom",
        name: "apply_patch",
        description: "Edits",
        format: { type: "grammar", syntax: "lark", definition: "start: /x/" },
      },
      { type: "web_search", external_web_access: false },
    ],
    tool_choice: "auto",
    parallel_tool_calls: true,
    reasoning: { effort: "medium", summary: "auto" },
    store: false,
    stream: true,
    include: ["reasoning.encrypted_content"],
    prompt_cache_key: "0199a213-81c0-7800-8aa1-bbab2a035a53",
    text: { verbosity: "low" },
    client_metadata: { "x-codex-installation-id": "1" },
  };
  const zstd = { ...headers, "content-encoding": "zstd" };

  test("sends its body compressed with zstd and gets the same events as for an uncompressed one", async () => {
    const address = `${fixture.fake.url}/v1/responses`;
    const plain = await send(address, { headers, body });
    const params = { [constants.ZSTD_c_compressionLevel]: 3 };
    const response = await send(address, {
      headers: zstd,
      body: zstdCompressSync(JSON.stringify(body), { params }),
    });
    expect(response.status).toBe(200);
    const kinds = eventsOf(response).map(({ type }) => type);
    expect(kinds).toEqual(eventsOf(plain).map(({ type }) => type));
    expect(kinds.at(-1)).toBe("response.completed");
    expect(kinds.filter((kind) => kind === "response.function_call_arguments.done")).toHaveLength(2);
    const [first, second] = fixture.fake.requests.slice(-2);
    expect(second?.input).toEqual(first?.input);
  });

  test("gets an OpenAI error for a compressed body that exceeds the limit or is invalid", async () => {
    const address = `${fixture.fake.url}/v1/responses`;
    const bomb = zstdCompressSync(Buffer.alloc(65 * 1024 * 1024, " "));
    expect(bomb.length).toBeLessThan(100_000);
    const oversized = await send(address, { headers: zstd, body: bomb });
    expect([oversized.status, JSON.parse(oversized.text)]).toEqual([
      413,
      { error: expect.objectContaining({ message: expect.any(String) }) },
    ]);
    const uncompressed = await send(address, { headers: zstd, body });
    expect([uncompressed.status, JSON.parse(uncompressed.text)]).toMatchObject([
      400,
      { error: { type: "invalid_request_error" } },
    ]);
  });

  test('gzip body → "Cannot parse": bodies can be compressed for every API, and other encodings are named', async () => {
    const chat = JSON.stringify({ model: "tiny", messages: [{ role: "user", content: "Hi" }] });
    const address = `${fixture.fake.url}/v1/chat/completions`;
    const gzip = { ...headers, "content-encoding": "gzip" };
    expect(await send(address, { headers: gzip, body: gzipSync(chat) })).toMatchObject({ status: 200 });
    expect(await send(address, { headers: zstd, body: zstdCompressSync(chat) })).toMatchObject({
      status: 200,
    });
    const unknown = { ...headers, "content-encoding": "br" };
    const rejected = await send(address, { headers: unknown, body: brotliCompressSync(chat) });
    expect([rejected.status, rejected.text]).toEqual([415, expect.stringContaining("use gzip or zstd")]);
  });
});
