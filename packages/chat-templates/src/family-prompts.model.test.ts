import { FailureError } from "@hearth-and-keep/failures";
import { recordFigure, scale } from "@hearth-and-keep/figures";
import { startLlamaServer, testModel } from "@hearth-and-keep/test-servers";
import { beforeAll, expect, test } from "vitest";
import { type ChatTemplate, parseChatTemplate } from "./chat-template.ts";
import { conversations } from "./fixtures/conversations.ts";
import { type FamilyTemplate, familyTemplates } from "./fixtures/family-templates.ts";
import {
  type Rendered,
  readSpecialTokens,
  renderWithLlamaServer,
} from "./fixtures/render-with-llama-server.ts";
import { type RenderOptions, renderChatTemplate } from "./render-chat-template.ts";

// A family is one line of models and can have several templates. The nightly run covers all other templates too.
const families: Readonly<Record<string, readonly string[]>> = {
  Apertus: ["Apertus-8B-Instruct"],
  Seed: ["ByteDance-Seed-OSS"],
  "Command R": ["CohereForAI-c4ai-command-r7b-12-2024-tool_use"],
  GLM: ["GLM-4.6"],
  SmolLM: ["HuggingFaceTB-SmolLM3-3B"],
  Kimi: ["Kimi-K2-Instruct"],
  LFM: ["LFM2.5-8B-A1B"],
  MiniMax: ["MiniMax-M2"],
  Nemotron: ["NVIDIA-Nemotron-Nano-v2"],
  Mistral: [
    "Mistral-Small-3.2-24B-Instruct-2506",
    "mistralai-Ministral-3-14B-Reasoning-2512",
    "mistralai-Mistral-Nemo-Instruct-2407",
  ],
  Hermes: ["NousResearch-Hermes-3-Llama-3.1-8B-tool_use"],
  Qwen: ["Qwen3-Coder", "Qwen-Qwen2.5-7B-Instruct", "Qwen-Qwen3-0.6B", "Qwen3.5-4B"],
  StepFun: ["StepFun3.5-Flash"],
  Hunyuan: ["tencent-Hy3"],
  DeepSeek: [
    "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B",
    "deepseek-ai-DeepSeek-V3.1",
    "deepseek-ai-DeepSeek-V4",
  ],
  Gemma: ["google-gemma-2-2b-it", "google-gemma-4-31B-it", "google-gemma-4-31B-it-interleaved"],
  Granite: ["ibm-granite-granite-4.0"],
  Functionary: ["meetkai-functionary-medium-v3.2"],
  Llama: ["meta-llama-Llama-3.1-8B-Instruct"],
  Phi: ["microsoft-Phi-3.5-mini-instruct"],
  "gpt-oss": ["openai-gpt-oss-120b"],
};
const minEqualFamilies = 12;

type Comparison = {
  equal: number;
  rejected: number;
  readonly different: string[];
  readonly equalTemplates: string[];
};

let collection: readonly FamilyTemplate[] = [];
let model = "";

beforeAll(async () => {
  collection = await familyTemplates();
  model = await testModel("tiny-llama.gguf");
}, 900_000);

test("the prompts of every family are byte for byte those of llama.cpp's server, and both reject the same conversations", async () => {
  const daily = Object.values(families).flat();
  const selected = scale === "nightly" ? collection : collection.filter(({ name }) => daily.includes(name));
  expect(selected.map(({ name }) => name)).toEqual(expect.arrayContaining(daily));
  const comparison: Comparison = { equal: 0, rejected: 0, different: [], equalTemplates: [] };
  for (const family of selected) await compareFamily(family, comparison);
  const cases = selected.length * Object.keys(conversations).length;
  const equalFamilies = Object.values(families).filter((names) =>
    names.every((name) => comparison.equalTemplates.includes(name)),
  );
  const text =
    `${selected.length} templates × ${Object.keys(conversations).length} conversations: ${comparison.equal} prompts equal, ` +
    `${comparison.rejected} rejected by both, ${comparison.different.length} different; ` +
    `${equalFamilies.length} of ${Object.keys(families).length} families completely equal (required ${minEqualFamilies})`;
  process.stdout.write(`${text}\n`);
  expect(comparison.different).toEqual([]);
  expect(equalFamilies.length).toBeGreaterThanOrEqual(minEqualFamilies);
  recordFigure({
    claim: "engine 11",
    text,
    counted: { reached: comparison.equal + comparison.rejected, needed: cases },
  });
}, 900_000);

async function compareFamily({ name, source }: FamilyTemplate, comparison: Comparison): Promise<void> {
  await using server = await startLlamaServer({ model, chatTemplate: source });
  const specialTokens = await readSpecialTokens(server);
  const template = parseChatTemplate({ default: source });
  let equal = 0;
  for (const [title, conversation] of Object.entries(conversations)) {
    const [theirs, ours] = [
      await renderWithLlamaServer(server, conversation),
      render(template, conversation, { specialTokens, now: new Date() }),
    ];
    if ("prompt" in theirs && "prompt" in ours && theirs.prompt === ours.prompt) equal += 1;
    else if ("rejection" in theirs && "rejection" in ours) comparison.rejected += 1;
    else comparison.different.push(`${name}, ${title}: ${JSON.stringify({ theirs, ours })}`);
  }
  comparison.equal += equal;
  if (equal === Object.keys(conversations).length) comparison.equalTemplates.push(name);
}

function render(
  template: ChatTemplate,
  conversation: Parameters<typeof renderChatTemplate>[1],
  options: RenderOptions,
): Rendered {
  try {
    return { prompt: renderChatTemplate(template, conversation, options) };
  } catch (error) {
    if (error instanceof FailureError && error.failure.kind === "template-failed") {
      return { rejection: String(error.failure.reason) };
    }
    throw error;
  }
}

test.for(["smollm2-135m-instruct-q4_1.gguf", "tiny-llama.gguf"] as const)(
  "the template of %s renders the same prompts as llama.cpp's server",
  async (file) => {
    await using server = await startLlamaServer({ model: await testModel(file) });
    const specialTokens = await readSpecialTokens(server);
    const template = parseChatTemplate({ default: specialTokens.template });
    for (const [title, conversation] of Object.entries(conversations)) {
      const theirs = await renderWithLlamaServer(server, conversation);
      const ours = render(template, conversation, { specialTokens, now: new Date() });
      expect({ title, ...ours }).toEqual({ title, ...theirs });
    }
  },
);

test("Jinja's operators, filters, tests and loops print what they print in llama.cpp", async () => {
  const source = languageCases.map((expression, index) => `${index}: ${expression}`).join("\n");
  await using server = await startLlamaServer({ model, chatTemplate: source });
  const specialTokens = await readSpecialTokens(server);
  const conversation = { messages: [{ role: "user", content: "Grüße an alle" }] } as const;
  const ours = renderChatTemplate(parseChatTemplate({ default: source }), conversation, {
    specialTokens,
    now: new Date(),
  });
  expect({ prompt: ours }).toEqual(await renderWithLlamaServer(server, conversation));
  process.stdout.write(`Jinja: ${languageCases.length} expressions print the same\n`);
});

const languageCases = [
  "{{ 1 + 2 * 3 - 4 }} {{ 7 / 2 }} {{ 7 % 4 }} {{ -5 % 3 }} {{ 1.5 + 1.5 }} {{ 2.0 * 2 }} {{ 10000000 * 1.0 }}",
  "{{ 1 == 1.0 }} {{ 1 == true }} {{ 'a' == 'a' }} {{ none == none }} {{ [1] == [1] }} {{ [[1]] == [[1]] }}",
  "{{ 'b' in 'abc' }} {{ 2 in [1, 2] }} {{ 'k' in {'k': 1} }} {{ 'x' not in missing }} {{ none in [none] }}",
  "{{ 'a' ~ 1 ~ 2.5 ~ true ~ none ~ missing }} {{ 'a' + none }} {{ 'ab' * 3 }}",
  "{{ [1, 'two', 3.0, none, true] }} {{ [1, \"it's\"]|string }} {{ {'a': [1]}|string }}",
  "{{ {'a': 1, 'b': [true, none, 0.1, 1e5, 'ü\\n\"']}|tojson }} {{ [1, {'x': []}]|tojson(indent=2) }}",
  "{{ 'ü'|tojson(ensure_ascii=true) }} {{ {'a': [1, 2]}|tojson(separators=(',', ':')) }} {{ 0.000012345678|tojson }}",
  "{{ messages[0].content|length }} {{ messages[0].content[2:6] }} {{ messages[0].content|upper }}",
  "{{ '  a b '|trim }}| {{ 'xxaxx'.strip('x') }} {{ ' a '.lstrip() }}| {{ ' a '.rstrip() }}|",
  "{{ 'a-b-c'.split('-') }} {{ 'a-b-c'.split('-', 1) }} {{ 'a-b-c'.rsplit('-', 1) }} {{ 'a b'.split() }}",
  "{{ 'hello world'|title }} {{ 'hELLO'|capitalize }} {{ 'abc'.replace('b', 'xx') }} {{ 'abc'|replace('', '-') }}",
  "{{ 'one\\ntwo\\n\\nthree'|indent(2) }} {{ 'a\\nb'|indent(1, true) }} {{ '{} and {}'.format(1, 'b') }}",
  "{{ '12'|int + 1 }} {{ 'x'|int(5) }} {{ '1.5'|float }} {{ 3.9|int }} {{ -3|abs }} {{ true|int }}",
  "{{ [3, 1, 2]|sort }} {{ [3, 1]|sort(reverse=true) }} {{ [1, 2, 3]|reverse }} {{ [1, 2]|first }} {{ [1, 2]|last }}",
  "{{ [1, 2, 3][-1] }} {{ [1, 2, 3][1:] }} {{ [1, 2, 3][::-1] }} {{ [1, 2, 3][:-1]|length }} {{ 'abc'[::-1] }}",
  "{{ [1, 2]|join(', ') }} {{ [{'n': 'a'}, {'n': 'b'}]|map(attribute='n')|join('+') }} {{ [5, 2, 9]|max }}",
  "{{ [{'n': 1}, {'n': 0}]|selectattr('n')|list|length }} {{ [{'n': 1}, {'n': 2}]|selectattr('n', 'equalto', 2)|list }}",
  "{{ [{'r': 'a'}, {'r': 'b'}]|rejectattr('r', 'equalto', 'a')|list|tojson }}",
  "{% for k, v in {'b': 1, 'a': 2}|dictsort %}{{ k }}={{ v }};{% endfor %} {% for k in {'x': 1} %}{{ k }}{% endfor %}",
  "{% for i in range(5) if i % 2 == 0 %}{{ loop.index }}/{{ loop.length }}{{ ',' if not loop.last }}{% endfor %}",
  "{% for i in range(9) %}{% if i == 2 %}{% continue %}{% endif %}{% if i == 5 %}{% break %}{% endif %}{{ i }}{% endfor %}",
  "{% for x in [] %}{{ x }}{% else %}none{% endfor %} {% for a, b in [(1, 2), (3, 4)] %}{{ a + b }} {% endfor %}",
  "{% set ns = namespace(n=0) %}{% for i in [1, 2, 3] %}{% set ns.n = ns.n + i %}{% endfor %}{{ ns.n }}",
  "{% set x = 1 %}{% for i in [1] %}{% set x = 2 %}{% endfor %}{{ x }} {% set y %}block {{ x }}{% endset %}{{ y }}",
  "{% macro greet(name, mark='!') %}Hi {{ name }}{{ mark }}{% endmacro %}{{ greet('Ann') }} {{ greet('Bo', mark='?') }}",
  "{% macro wrap() %}<{{ caller() }}>{% endmacro %}{% call wrap() %}inside{% endcall %}",
  "{% filter upper %}shout {{ 1 }}{% endfilter %} {{ 'a' if false else 'b' }} {{ ('a' if false)|default('gone') }}",
  "{{ none|default('d') }} {{ missing|default('d') }} {{ ''|default('d', true) }} {{ 0|default('d', true) }}",
  "{{ 4 is even }} {{ 9 is divisibleby(3) }} {{ 9 is not divisibleby(2) }} {{ 'a' is string }} {{ [] is iterable }}",
  "{{ {} is mapping }} {{ missing is defined }} {{ none is none }} {{ 1 is number }} {{ 2 is gt(1) }} {{ 'A' is upper }}",
  "{{ dict(a=1, b=2).items()|list|length }} {{ {'items': 1}['items'] }} {{ {'a': 1}.get('b', 'no') }} {{ {'a': 1}.get('b') }}",
  "{% set l = [1] %}{% set _ = l.append(2) %}{{ l.pop() }} {{ l }} {%- set a, b = (1, 2) %} {{ b }}{# a comment #}",
  "  {%- if true and not false or missing %} yes {%- else %} no {%- endif %} {{ true and 'x' }} {{ '' or 'y' }}",
];
