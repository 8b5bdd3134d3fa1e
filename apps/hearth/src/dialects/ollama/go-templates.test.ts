import { join } from "node:path";
import { makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { createFromFile } from "../../models/create-from-file.ts";
import { openModelStore } from "../../models/store/model-store.ts";
import { placeWithoutJinja } from "../../models/test/without-jinja.ts";
import { smol, startTestServer, type TestServer } from "../../test/start-test-server.ts";
import { ask } from "./test/ask.ts";

const chatml =
  "{{- range .Messages }}<|im_start|>{{ .Role }}\n{{ .Content }}<|im_end|>\n{{ end }}<|im_start|>assistant\n";
const filling = "{{ if .Suffix }}{{ .Prompt }}<gap>{{ .Suffix }}{{ else }}{{ .Prompt }}{{ end }}";
const calling = `{{ range .Tools }}{{ json . }}\n{{ end }}{{ range .Messages }}{{ range .ToolCalls }}<tool_call>
{"name": "{{ .Function.Name }}", "arguments": {{ .Function.Arguments }}}
</tool_call>{{ end }}{{ .Content }}{{ end }}`;
/** Ollama repeats without a penalty, where ours has one by default. */
const exact = { options: { temperature: 0, seed: 1, num_predict: 8, repeat_penalty: 1 }, stream: false };
const question = { messages: [{ role: "user", content: "What is 2+2?" }] };

test("a model file without Jinja answers by its Go template, as a real Ollama's did", async () => {
  await using folder = await makeTemporaryFolder("go-templates");
  await using server = await startWithTemplates(folder.path, { plain: chatml });
  const chat = await ask(server, "/api/chat", { model: "plain", ...exact, ...question });
  expect(chat.status).toBe(200);
  // Sixteen tokens and this answer were recorded with the same weights and the same template.
  expect(chat.last).toMatchObject({
    message: { content: "The answer is: 4" },
    prompt_eval_count: 16,
    done_reason: "stop",
  });
  const wish = { model: "plain", max_tokens: 8, ...question };
  const completion = await ask(server, "/v1/chat/completions", wish);
  expect(completion.last["usage"]).toMatchObject({ prompt_tokens: 16 });
});

test("a text is inserted by the template's suffix, and a model without one refuses", async () => {
  await using folder = await makeTemporaryFolder("go-templates");
  await using server = await startWithTemplates(folder.path, { coder: filling, plain: chatml });
  const wish = { prompt: "One two", suffix: "four", ...exact };
  const inserted = await ask(server, "/api/generate", { model: "coder", ...wish });
  expect(inserted.status).toBe(200);
  const alike = { prompt: "One two<gap>four", raw: true, ...exact };
  const raw = await ask(server, "/api/generate", { model: "coder", ...alike });
  expect(inserted.last["prompt_eval_count"]).toBe(raw.last["prompt_eval_count"]);
  expect(inserted.last["response"]).toBe(raw.last["response"]);
  const refused = await ask(server, "/api/generate", { model: "plain", ...wish });
  expect(refused.status).toBe(400);
  expect(refused.text).toContain("does not support insert");
});

test("tools are shown by a Go template that knows them, and a broken template is told as such", async () => {
  await using folder = await makeTemporaryFolder("go-templates");
  await using server = await startWithTemplates(folder.path, {
    caller: calling,
    broken: "{{ .Messages | shout }}",
  });
  const tools = [
    {
      type: "function",
      function: { name: "clock", description: "time", parameters: { type: "object", properties: {} } },
    },
  ];
  const called = await ask(server, "/api/chat", { model: "caller", tools, ...exact, ...question });
  const plain = await ask(server, "/api/chat", { model: "caller", ...exact, ...question });
  expect([called.status, plain.status]).toEqual([200, 200]);
  expect(Number(called.last["prompt_eval_count"])).toBeGreaterThan(
    Number(plain.last["prompt_eval_count"]) + 10,
  );
  const broken = await ask(server, "/api/chat", { model: "broken", ...exact, ...question });
  expect(broken.status).toBe(400);
  expect(broken.text).toContain('it calls \\"shout\\", which is no function known here');
  const raw = await ask(server, "/api/generate", { model: "broken", prompt: "One", raw: true, ...exact });
  expect(raw.status).toBe(200);
});

test("a template in a request counts before the model's own, for that request alone, as Ollama does it", async () => {
  await using folder = await makeTemporaryFolder("go-templates");
  await using server = await startWithTemplates(folder.path, {
    plain: calling,
    broken: "{{ .Messages | shout }}",
  });
  const generate = (more: Readonly<Record<string, unknown>>) =>
    ask(server, "/api/generate", { prompt: "What is 2+2?", ...exact, ...more });
  for (const model of ["plain", "broken", "jinja"]) {
    const replaced = await generate({ model, template: chatml });
    // What a real Ollama counted and answered by this template, with the same weights.
    expect([model, replaced.status, replaced.last]).toEqual([
      model,
      200,
      expect.objectContaining({ response: "The answer is: 4", prompt_eval_count: 16 }),
    ]);
  }
  const own = await generate({ model: "jinja" });
  expect(own.last["prompt_eval_count"]).toBeGreaterThan(20);
  const told = await generate({ model: "jinja", template: "{{ .System }}: {{ .Prompt }}", system: "Add" });
  const raw = await generate({ model: "jinja", raw: true, prompt: "Add: What is 2+2?" });
  expect(told.last["prompt_eval_count"]).toBe(raw.last["prompt_eval_count"]);
  expect(told.last["response"]).toBe(raw.last["response"]);
});

test("a template in a request has the limits of a model's own, and its mistakes are the caller's", async () => {
  await using folder = await makeTemporaryFolder("go-templates");
  await using server = await startWithTemplates(folder.path, { plain: chatml });
  const generate = (template: string) =>
    ask(server, "/api/generate", { model: "plain", prompt: "One", template, ...exact });
  const round = "{{ range $.Messages }}";
  for (const [template, reason] of [
    ["{{ .Prompt | shout }}", 'it calls "shout"'],
    ["{{ if .Prompt }}", "template: "],
    [`{{ define "a" }}{{ template "a" }}{{ end }}{{ template "a" }}`, "template: "],
    [round.repeat(2000) + "x" + "{{ end }}".repeat(2000), "template: "],
    ["x".repeat(8 * 1024 ** 2), "template: "],
  ] as const) {
    const refused = await generate(template);
    expect([refused.status, refused.last["error"]]).toEqual([400, expect.stringContaining(reason)]);
  }
  expect((await generate(chatml)).status).toBe(200);
});

async function startWithTemplates(
  folder: string,
  templates: Readonly<Record<string, string>>,
): Promise<TestServer> {
  const file = join(folder, "without-jinja.gguf");
  await placeWithoutJinja(file);
  const storeFolder = join(folder, "store");
  const store = await openModelStore(storeFolder, "own");
  for (const [name, template] of Object.entries(templates)) {
    await createFromFile([store], { name, file, extras: { template } });
  }
  return startTestServer({ models: { jinja: smol }, storeFolder });
}
