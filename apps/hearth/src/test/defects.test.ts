import type { Script, ScriptStep } from "@hearth-and-keep/engine/testing";
import { expect, test } from "vitest";
import { startTestServer, tiny } from "./start-test-server.ts";

/** A fault of ours, not a failure that we know; its message holds what a caller wrote. */
const fault: ScriptStep = {
  reason: "stop",
  get do(): never {
    throw new TypeError("what the caller wrote");
  },
};
const atOnce: Script = () => [fault];
const halfway: Script = () => [{ do: "say", text: "Hello" }, { do: "wait", milliseconds: 50 }, fault];

test.each([
  { when: "of a whole answer", script: atOnce, stream: false, status: 500 },
  { when: "before the first byte of a stream", script: atOnce, stream: true, status: 500 },
  { when: "in the middle of a stream", script: halfway, stream: true, status: 200 },
])("a fault $when is logged with its place and without its message", async ({ script, stream, status }) => {
  await using server = await startTestServer({ models: { tiny }, script });
  const answer = await fetch(`${server.url}/api/generate`, {
    method: "POST",
    body: JSON.stringify({ model: "tiny", prompt: "Hello", stream }),
  });
  expect(answer.status).toBe(status);
  expect(await answer.text()).toContain("because of a fault in the server");
  const faults = server.logged().filter(({ message }) => message === "Fault in the server");
  expect(faults).toEqual([expect.objectContaining({ defect: expect.stringMatching(/^TypeError\n\s+at /u) })]);
  expect(JSON.stringify(server.logged())).not.toContain("what the caller wrote");
});
