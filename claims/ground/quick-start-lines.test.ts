import { expect, test } from "vitest";
import { isPromiseKept, readQuickStart } from "./quick-start.ts";

const readme = [
  "# Title",
  "",
  "## Quick start",
  "```sh",
  "npm ci",
  "```",
  "Start it:",
  "```sh",
  "npx --no hearth serve",
  "```",
  "```sh",
  "curl -s http://127.0.0.1/api/version",
  '# {"version":"1"}',
  "```",
  "Save this as",
  "`ask.mjs`:",
  "",
  "```js",
  "ask();",
  "```",
  "```json",
  '{ "not": "a command" }',
  "```",
  "## More",
  "```sh",
  "rm -rf everything",
  "```",
].join("\n");

test("the quick start is what stands in its sh blocks, in order, with what each line promises", () => {
  expect(readQuickStart(readme)).toEqual([
    { kind: "command", line: "npm ci", expected: [] },
    { kind: "server", line: "npx --no hearth serve" },
    { kind: "command", line: "curl -s http://127.0.0.1/api/version", expected: ['{"version":"1"}'] },
    { kind: "file", name: "ask.mjs", content: "ask();\n" },
  ]);
});

test("a promise that follows no command is refused", () => {
  expect(() => readQuickStart("## Quick start\n```sh\n# nothing before\n```\n## More")).toThrow(
    "follows no command",
  );
});

test("a program that no sentence names is refused", () => {
  expect(() => readQuickStart("## Quick start\n```python\nask()\n```\n## More")).toThrow(
    "is not named before it",
  );
});

test("a promise is a whole line of the output, in which dots stand for some text", () => {
  const output = 'first\n{"id":"a.b","text":"Hello"}\n';
  expect(isPromiseKept(output, "first")).toBe(true);
  expect(isPromiseKept(output, '{"id":"…","text":"…"}')).toBe(true);
  expect(isPromiseKept(output, "fir")).toBe(false);
  expect(isPromiseKept(output, '{"id":"aXb",…}')).toBe(false);
  expect(isPromiseKept('text: ""', 'text: "…"')).toBe(false);
});
