import { expect, test } from "vitest";
import { PreparationThread } from "./preparation-thread.ts";

const specialTokens = { beginning: "<s>", end: "</s>", addsBeginning: true, addsEnd: false };
const hello = { messages: [{ role: "user", content: "Hello" }] } as const;

function threadWith(template: string, maxSeconds = 5): PreparationThread {
  return new PreparationThread({ templates: { default: template }, specialTokens, maxSeconds });
}

test("a template is rendered outside the event loop, and an invalid one fails as such", async () => {
  await using thread = threadWith("{{ bos_token }}{% for m in messages %}{{ m.content }}{% endfor %}");
  expect(await thread.render(hello)).toBe("Hello");
  expect((await thread.capabilities())?.template).toEqual({ tools: false, thinking: false });
  await using broken = threadWith("{% for %}");
  await expect(broken.render(hello)).rejects.toMatchObject({ failure: { kind: "template-failed" } });
  expect(await broken.capabilities()).toBeUndefined();
});

test("a call that takes too long fails, and the calls after it succeed", async () => {
  await using thread = threadWith("{{ messages[0].content }}", 0.5);
  expect(await thread.render(hello)).toBe("Hello");
  // Compiling it takes forever: each repetition multiplies the number of states.
  const pattern = "^(([a-z]{1,99}){1,99}){1,99}$";
  const constraint = { type: "json-schema", schema: { type: "string", pattern }, isStrict: true } as const;
  const slow = thread.grammar(constraint);
  const next = thread.render(hello);
  await expect(slow).rejects.toMatchObject({ failure: { kind: expect.stringMatching(/grammar|schema/u) } });
  await expect(next).resolves.toBe("Hello");
});

test("a template that terminates its thread fails one call", async () => {
  await using thread = threadWith("{{ messages[0].content }}", 0.000_001);
  await expect(thread.render(hello)).rejects.toMatchObject({
    failure: { kind: "template-failed", reason: "it exceeds the time or memory limit" },
  });
});

test("a valid grammar is returned as in the worker, and an invalid one is rejected", async () => {
  await using thread = threadWith("");
  expect(await thread.grammar({ type: "gbnf", grammar: 'root ::= "a"' })).toBe('root ::= "a"');
  expect(await thread.grammar({ type: "json" })).toContain("root ::=");
  await expect(thread.grammar({ type: "gbnf", grammar: "root ::= nowhere" })).rejects.toMatchObject({
    failure: { kind: "grammar-invalid" },
  });
});

test("the start of the thread does not count towards the timeout of a call", async () => {
  const templates = { default: null };
  const constraint = { type: "gbnf", grammar: 'root ::= "a"' } as const;
  const startedAt = performance.now();
  await using first = new PreparationThread({ templates, specialTokens });
  await first.grammar(constraint);
  const maxSeconds = (performance.now() - startedAt) / 2000;
  await using second = new PreparationThread({ templates, specialTokens, maxSeconds });
  expect(await second.grammar(constraint)).toBe(constraint.grammar);
});
