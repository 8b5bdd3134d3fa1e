import { expect, test } from "vitest";
import { PreparingThread } from "./preparation-thread.ts";

const specialTokens = { beginning: "<s>", end: "</s>", addsBeginning: true, addsEnd: false };
const hello = { messages: [{ role: "user", content: "Hello" }] } as const;

function threadWith(usual: string, mostSeconds = 5): PreparingThread {
  return new PreparingThread({ templates: { usual }, specialTokens, mostSeconds });
}

test("a template is rendered beside the event loop, and refused in its own words when it fails", async () => {
  await using thread = threadWith("{{ bos_token }}{% for m in messages %}{{ m.content }}{% endfor %}");
  expect(await thread.render(hello)).toBe("Hello");
  expect((await thread.abilities())?.template).toEqual({ tools: false, thinking: false });
  await using broken = threadWith("{% for %}");
  await expect(broken.render(hello)).rejects.toMatchObject({ failure: { kind: "template-failed" } });
  expect(await broken.abilities()).toBeUndefined();
});

test("a call that takes too long fails alone, and those behind it are answered", async () => {
  await using thread = threadWith("{{ messages[0].content }}", 0.5);
  expect(await thread.render(hello)).toBe("Hello");
  // Compiling it takes for ever: each repetition multiplies the states of the last.
  const pattern = "^(([a-z]{1,99}){1,99}){1,99}$";
  const constraint = { type: "json-schema", schema: { type: "string", pattern } } as const;
  const slow = thread.grammar(constraint);
  const behind = thread.render(hello);
  await expect(slow).rejects.toMatchObject({ failure: { kind: expect.stringMatching(/grammar|schema/u) } });
  await expect(behind).resolves.toBe("Hello");
});

test("a template that takes its thread down costs one call", async () => {
  await using thread = threadWith("{{ messages[0].content }}", 0.000_001);
  await expect(thread.render(hello)).rejects.toMatchObject({
    failure: { kind: "template-failed", reason: "it takes too much time or memory" },
  });
});

test("a grammar comes out as the worker's does, and one that is none is refused", async () => {
  await using thread = threadWith("");
  expect(await thread.grammar({ type: "gbnf", grammar: 'root ::= "a"' })).toBe('root ::= "a"');
  expect(await thread.grammar({ type: "json" })).toContain("root ::=");
  await expect(thread.grammar({ type: "gbnf", grammar: "root ::= nowhere" })).rejects.toMatchObject({
    failure: { kind: "grammar-invalid" },
  });
});

test("the time a thread takes to start is not counted as its caller's", async () => {
  const templates = { usual: null };
  const constraint = { type: "gbnf", grammar: 'root ::= "a"' } as const;
  const startedAt = performance.now();
  await using first = new PreparingThread({ templates, specialTokens });
  await first.grammar(constraint);
  const mostSeconds = (performance.now() - startedAt) / 2000;
  await using second = new PreparingThread({ templates, specialTokens, mostSeconds });
  expect(await second.grammar(constraint)).toBe(constraint.grammar);
});
