import { expect } from "vitest";
import type { Conversation, Tool } from "../conversation.ts";
import type { GenerateRequest } from "../engine.ts";
import { type EngineRule, request } from "./driver-fixture.ts";

const lookUp: Tool = {
  name: "look_up",
  description: "Looks things up",
  parameters: { type: "object", properties: { word: { type: "string" } }, required: ["word"] },
};
const hello: Conversation = { messages: [{ role: "user", content: "Hello" }] };

function talk(conversation: Conversation, changes: Partial<GenerateRequest> = {}): GenerateRequest {
  return request("", { input: { type: "conversation", conversation }, ...changes });
}

/** What prompts and answers look like: templates, tools, thinking, grammars, gaps, images. */
export const shapeRules: readonly EngineRule[] = [
  {
    name: "the model's own template renders a conversation, and its tokens are counted",
    async prove({ engine, run }) {
      const conversation = { ...hello, tools: [lookUp], thinking: false };
      const prompt = await engine.render(conversation);
      expect(prompt).toContain("Hello");
      expect(prompt).toContain("look_up");
      expect(await engine.count(conversation)).toBe((await engine.tokenize(prompt)).length);
      const { end } = await run(talk(conversation));
      expect(end.usage.promptTokens).toBe(await engine.count(conversation));
    },
  },
  {
    name: "thinking is asked for or not as the template has it, and its marks are in the text",
    async prove({ engine, run }) {
      expect(await engine.render({ ...hello, thinking: false })).toMatch(/<think>\n\n<\/think>\n\n$/u);
      expect(await engine.render({ ...hello, thinking: true })).toMatch(/assistant\n$/u);
      const constraint = { type: "gbnf", grammar: 'root ::= "<think>" [a-z]{4} "</think>"' } as const;
      const { text } = await run(talk(hello, { constraint, mostTokens: 32 }));
      expect(text).toMatch(/^<think>[a-z]{4}<\/think>$/u);
    },
  },
  {
    name: "an answer that the caller began is gone on with",
    async prove({ engine }) {
      const begun = { messages: [...hello.messages, { role: "assistant", content: "Well, " } as const] };
      expect(await engine.render(begun)).toMatch(/assistant\nWell, $/u);
    },
  },
  {
    name: "forced calls are calls of the offered tools, with their arguments",
    async prove({ run }) {
      const constraint = { type: "tool-calls", tools: [lookUp], mostCalls: 1 } as const;
      const { text } = await run(talk({ ...hello, tools: [lookUp] }, { constraint, mostTokens: 200 }));
      expect(text).toMatch(/^<tool_call>\n\{\s*"name":\s*"look_up",\s*"arguments":\s*\{\s*"word"/u);
    },
  },
  {
    name: "an answer keeps the schema it is given",
    async prove({ run }) {
      const schema = {
        type: "object",
        properties: { ok: { type: "boolean" } },
        required: ["ok"],
        additionalProperties: false,
      };
      const { text, end } = await run(
        request("Say", { constraint: { type: "json-schema", schema }, mostTokens: 64 }),
      );
      expect(JSON.parse(text)).toEqual({ ok: expect.any(Boolean) });
      expect(end.reason).toBe("stop");
    },
  },
  {
    name: "a keyword of a schema that is not supported is refused by name, and a grammar that is none with its reason",
    async prove({ run }) {
      const schema = { type: "number", multipleOf: 3 };
      await expect(
        run(request("Say", { constraint: { type: "json-schema", schema } })),
      ).rejects.toMatchObject({
        failure: { kind: "schema-unsupported", keyword: "multipleOf" },
      });
      const grammar = "root ::= nowhere";
      await expect(run(request("Say", { constraint: { type: "gbnf", grammar } }))).rejects.toMatchObject({
        failure: { kind: "grammar-invalid" },
      });
    },
  },
  {
    name: "a template that fails costs its caller one failure",
    async prove({ load }) {
      await using other = await load({ goTemplate: "{{ .Messages" });
      expect(other.describe().chatTemplate).toContain("<think>");
      const broken = {
        messages: [{ role: "user", content: "x" } as const],
        templateVariables: { messages: 1 },
      };
      await expect(other.render(broken)).rejects.toMatchObject({ failure: { kind: "template-failed" } });
      await expect(other.render(hello)).resolves.toContain("Hello");
    },
  },
  {
    name: "a gap is filled between the model's own marks",
    async prove({ engine, run }) {
      expect(engine.describe().canFillInTheMiddle).toBe(true);
      const input = { type: "fill-in-the-middle", prefix: "one", suffix: "three" } as const;
      const { end } = await run(request("", { input }));
      const inside = (await engine.tokenize("one")).length + (await engine.tokenize("three")).length;
      expect(end.usage.promptTokens).toBe(inside + 3);
    },
  },
  {
    name: "an image is refused by a model that cannot see",
    async prove({ engine, run }) {
      expect(engine.describe().canSeeImages).toBe(false);
      const image = { bytes: new Uint8Array(8), mediaType: "image/png" };
      const seeing = { messages: [{ role: "user", content: "Look", images: [image] } as const] };
      await expect(run(talk(seeing))).rejects.toMatchObject({
        failure: { kind: "not-supported", feature: "images" },
      });
    },
  },
];
