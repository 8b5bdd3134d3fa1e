import { expect, test } from "vitest";
import { readQuickStart } from "./quick-start.ts";

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
  ]);
});

test("a promise that follows no command is refused", () => {
  expect(() => readQuickStart("## Quick start\n```sh\n# nothing before\n```\n## More")).toThrow(
    "follows no command",
  );
});
