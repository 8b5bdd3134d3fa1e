import { expect, test } from "vitest";
import { hasExpectedLine, readQuickStart } from "./quick-start.ts";

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

test("the quick start consists of the lines of its sh blocks, in order, with the output each one promises", () => {
  expect(readQuickStart(readme)).toEqual([
    { kind: "command", line: "npm ci", expected: [] },
    { kind: "server", line: "npx --no hearth serve" },
    { kind: "command", line: "curl -s http://127.0.0.1/api/version", expected: ['{"version":"1"}'] },
    { kind: "file", name: "ask.mjs", content: "ask();\n" },
  ]);
});

test("expected output that follows no command is rejected", () => {
  expect(() => readQuickStart("## Quick start\n```sh\n# nothing before\n```\n## More")).toThrow(
    "follows no command",
  );
});

test("a program without a file name before it is rejected", () => {
  expect(() => readQuickStart("## Quick start\n```python\nask()\n```\n## More")).toThrow(
    "has no file name before it",
  );
});

test("expected output matches a complete line, in which an ellipsis stands for any text", () => {
  const output = 'first\n{"id":"a.b","text":"Hello"}\n';
  expect(hasExpectedLine(output, "first")).toBe(true);
  expect(hasExpectedLine(output, '{"id":"…","text":"…"}')).toBe(true);
  expect(hasExpectedLine(output, "fir")).toBe(false);
  expect(hasExpectedLine(output, '{"id":"aXb",…}')).toBe(false);
  expect(hasExpectedLine('text: ""', 'text: "…"')).toBe(false);
});
