import { join } from "node:path";
import { makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createFromFile } from "../../../models/create-from-file.ts";
import { openModelStore } from "../../../models/store/model-store.ts";
import { copyWithoutChatTemplate } from "../../../models/test/strip-chat-template.ts";
import { smol, startTestServer, type TestServer } from "../../../test/start-test-server.ts";
import { sendRequest } from "../test/send-request.ts";

const chatml =
  "{{- range .Messages }}<|im_start|>{{ .Role }}\n{{ .Content }}<|im_end|>\n{{ end }}<|im_start|>assistant\n";
const filling = "{{ if .Suffix }}{{ .Prompt }}<gap>{{ .Suffix }}{{ else }}{{ .Prompt }}{{ end }}";
const calling = `{{ range .Tools }}{{ json . }}\n{{ end }}{{ range .Messages }}{{ range .ToolCalls }}<tool_call>
{"name": "{{ .Function.Name }}", "arguments": {{ .Function.Arguments }}}
</tool_call>{{ end }}{{ .Content }}{{ end }}`;
/** Ollama has no repeat penalty by default; Hearth has one. */
const exact = { options: { temperature: 0, seed: 1, num_predict: 8, repeat_penalty: 1 }, stream: false };
const conversation = { messages: [{ role: "user", content: "What is 2+2?" }] };

const undo = new AsyncDisposableStack();
let server: TestServer;

/** One server for all tests: every import copies and hashes the weights. */
beforeAll(async () => {
  const folder = undo.use(await makeTemporaryFolder("go-templates"));
  const templates = { plain: chatml, coder: filling, caller: calling, broken: "{{ .Messages | shout }}" };
  server = undo.use(await startWithTemplates(folder.path, templates));
});
afterAll(() => undo.disposeAsync());

test("a model file without a Jinja template uses its Go template, with the same result as a real Ollama", async () => {
  const chat = await sendRequest(server, "/api/chat", { model: "plain", ...exact, ...conversation });
  expect(chat.status).toBe(200);
  // Sixteen tokens and this output were recorded with the same weights and template.
  expect(chat.last).toMatchObject({
    message: { content: "The answer is: 4" },
    prompt_eval_count: 16,
    done_reason: "stop",
  });
  const body = { model: "plain", max_tokens: 8, ...conversation };
  const completion = await sendRequest(server, "/v1/chat/completions", body);
  expect(completion.last["usage"]).toMatchObject({ prompt_tokens: 16 });
});

test("a suffix is inserted by the template, and rejected by a template without one", async () => {
  const body = { prompt: "One two", suffix: "four", ...exact };
  const inserted = await sendRequest(server, "/api/generate", { model: "coder", ...body });
  expect(inserted.status).toBe(200);
  const alike = { prompt: "One two<gap>four", raw: true, ...exact };
  const raw = await sendRequest(server, "/api/generate", { model: "coder", ...alike });
  expect(inserted.last["prompt_eval_count"]).toBe(raw.last["prompt_eval_count"]);
  expect(inserted.last["response"]).toBe(raw.last["response"]);
  const rejected = await sendRequest(server, "/api/generate", { model: "plain", ...body });
  expect(rejected.status).toBe(400);
  expect(rejected.text).toContain("does not support insert");
});

test("tools are rendered by a Go template that supports them, and a broken template is reported", async () => {
  const tools = [
    {
      type: "function",
      function: { name: "clock", description: "time", parameters: { type: "object", properties: {} } },
    },
  ];
  const called = await sendRequest(server, "/api/chat", {
    model: "caller",
    tools,
    ...exact,
    ...conversation,
  });
  const plain = await sendRequest(server, "/api/chat", { model: "caller", ...exact, ...conversation });
  expect([called.status, plain.status]).toEqual([200, 200]);
  expect(Number(called.last["prompt_eval_count"])).toBeGreaterThan(
    Number(plain.last["prompt_eval_count"]) + 10,
  );
  const broken = await sendRequest(server, "/api/chat", { model: "broken", ...exact, ...conversation });
  expect(broken.status).toBe(400);
  expect(broken.text).toContain('unknown function \\"shout\\"');
  const raw = await sendRequest(server, "/api/generate", {
    model: "broken",
    prompt: "One",
    raw: true,
    ...exact,
  });
  expect(raw.status).toBe(200);
});

test("a template in a request takes precedence over the model's, for that request only, as in Ollama", async () => {
  const prompt = "What is 2+2?";
  const generate = (more: Readonly<Record<string, unknown>>) =>
    sendRequest(server, "/api/generate", { prompt, ...exact, ...more });
  for (const model of ["caller", "broken", "jinja"]) {
    const replaced = await generate({ model, template: chatml });
    // The token count and output of a real Ollama with this template and the same weights.
    expect([model, replaced.status, replaced.last]).toEqual([
      model,
      200,
      expect.objectContaining({ response: "The answer is: 4", prompt_eval_count: 16 }),
    ]);
  }
  const own = await generate({ model: "jinja" });
  expect(own.last["prompt_eval_count"]).toBeGreaterThan(20);
  const withSystem = await generate({
    model: "jinja",
    template: "{{ .System }}: {{ .Prompt }}",
    system: "Add",
  });
  const raw = await generate({ model: "jinja", raw: true, prompt: "Add: What is 2+2?" });
  expect(withSystem.last["prompt_eval_count"]).toBe(raw.last["prompt_eval_count"]);
  expect(withSystem.last["response"]).toBe(raw.last["response"]);
});

test("a template in a request has the same limits as the model's, and its errors are client errors", async () => {
  const model = "plain";
  const generate = (template: string) =>
    sendRequest(server, "/api/generate", { model, prompt: "One", template, ...exact });
  const round = "{{ range $.Messages }}";
  for (const [template, reason] of [
    ["{{ .Prompt | shout }}", 'unknown function "shout"'],
    ["{{ if .Prompt }}", "template: "],
    [`{{ define "a" }}{{ template "a" }}{{ end }}{{ template "a" }}`, "template: "],
    [round.repeat(2000) + "x" + "{{ end }}".repeat(2000), "template: "],
    ["x".repeat(8 * 1024 ** 2), "template: "],
  ] as const) {
    const rejected = await generate(template);
    expect([rejected.status, rejected.last["error"]]).toEqual([400, expect.stringContaining(reason)]);
  }
  expect((await generate(chatml)).status).toBe(200);
});

async function startWithTemplates(
  folder: string,
  templates: Readonly<Record<string, string>>,
): Promise<TestServer> {
  const file = join(folder, "without-jinja.gguf");
  await copyWithoutChatTemplate(file);
  const storeFolder = join(folder, "store");
  const store = await openModelStore(storeFolder, "own");
  for (const [name, template] of Object.entries(templates)) {
    await createFromFile([store], { name, file, extras: { template } });
  }
  return startTestServer({ models: { jinja: smol }, storeFolder });
}
