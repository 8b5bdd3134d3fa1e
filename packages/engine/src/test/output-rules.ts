import { expect } from "vitest";
import type { Conversation, Tool } from "../conversation.ts";
import type { EngineRequest } from "../engine.ts";
import { type DriverRule, request } from "./driver-fixture.ts";

const lookUp: Tool = {
  name: "look_up",
  description: "Looks things up",
  parameters: { type: "object", properties: { word: { type: "string" } }, required: ["word"] },
};
const hello: Conversation = { messages: [{ role: "user", content: "Hello" }] };

function chat(conversation: Conversation, changes: Partial<EngineRequest> = {}): EngineRequest {
  return request("", { input: { type: "conversation", conversation }, ...changes });
}

/** Templates, tools, thinking, grammars, fill-in-the-middle, images and audio. */
export const outputRules: readonly DriverRule[] = [
  {
    name: "the model's template renders a conversation, and count matches its tokens",
    async verify({ engine, run }) {
      const conversation = { ...hello, tools: [lookUp], thinking: false };
      const prompt = await engine.render(conversation);
      expect(prompt).toContain("Hello");
      expect(prompt).toContain("look_up");
      expect(await engine.count(conversation)).toBe((await engine.tokenize(prompt)).length);
      const { end } = await run(chat(conversation));
      expect(end.usage.promptTokens).toBe(await engine.count(conversation));
    },
  },
  {
    name: "the template turns thinking on and off, and thinking tags appear in the text",
    async verify({ engine, run }) {
      expect(await engine.render({ ...hello, thinking: false })).toMatch(/<think>\n\n<\/think>\n\n$/u);
      expect(await engine.render({ ...hello, thinking: true })).toMatch(/assistant\n$/u);
      const constraint = { type: "gbnf", grammar: 'root ::= "<think>" [a-z]{4} "</think>"' } as const;
      const { text } = await run(chat(hello, { constraint, maxTokens: 32 }));
      expect(text).toMatch(/^<think>[a-z]{4}<\/think>$/u);
    },
  },
  {
    name: "a trailing assistant message is continued",
    async verify({ engine }) {
      const started = { messages: [...hello.messages, { role: "assistant", content: "Well, " } as const] };
      expect(await engine.render(started)).toMatch(/assistant\nWell, $/u);
    },
  },
  {
    name: "forced calls name an offered tool and its arguments",
    async verify({ run }) {
      const constraint = { type: "tool-calls", tools: [lookUp], maxCalls: 1 } as const;
      const { text } = await run(chat({ ...hello, tools: [lookUp] }, { constraint, maxTokens: 200 }));
      expect(text).toMatch(/^<tool_call>\n\{\s*"name":\s*"look_up",\s*"arguments":\s*\{\s*"word"/u);
    },
  },
  {
    name: "constrained output matches its schema",
    async verify({ run }) {
      const schema = {
        type: "object",
        properties: { ok: { type: "boolean" } },
        required: ["ok"],
        additionalProperties: false,
      };
      const { text, end } = await run(
        request("Say", { constraint: { type: "json-schema", schema }, maxTokens: 64 }),
      );
      expect(JSON.parse(text)).toEqual({ ok: expect.any(Boolean) });
      expect(end.reason).toBe("stop");
    },
  },
  {
    name: "an unsupported schema keyword is rejected by name, and an invalid grammar with a reason",
    async verify({ run }) {
      const schema = { type: "number", multipleOf: 0.3 };
      await expect(
        run(request("Say", { constraint: { type: "json-schema", schema, isStrict: true } })),
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
    name: "a failing template fails one request and not the engine",
    async verify({ load }) {
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
    name: "fill-in-the-middle uses the model's own infill tokens",
    async verify({ engine, run }) {
      expect(engine.describe().canFillInTheMiddle).toBe(true);
      const input = { type: "fill-in-the-middle", prefix: "one", suffix: "three" } as const;
      const { end } = await run(request("", { input }));
      const inside = (await engine.tokenize("one")).length + (await engine.tokenize("three")).length;
      expect(end.usage.promptTokens).toBe(inside + 3);
    },
  },
  {
    name: "a text-only model rejects images",
    async verify({ engine, run }) {
      expect(engine.describe().canSeeImages).toBe(false);
      const image = { bytes: new Uint8Array(8), mediaType: "image/png" };
      const seeing = { messages: [{ role: "user", content: "Look", images: [image] } as const] };
      await expect(run(chat(seeing))).rejects.toMatchObject({
        failure: { kind: "not-supported", feature: "images" },
      });
    },
  },
  {
    name: "a text-only model rejects audio",
    async verify({ engine, run }) {
      expect(engine.describe().canHearAudio).toBe(false);
      const clip = { bytes: new Uint8Array(8), mediaType: "audio/wav", seconds: 1 } as const;
      const hearing = { messages: [{ role: "user", content: "Listen", audio: [clip] } as const] };
      await expect(run(chat(hearing))).rejects.toMatchObject({
        failure: { kind: "not-supported", feature: "audio input" },
      });
    },
  },
];
