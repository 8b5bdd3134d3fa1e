import type { FakeEngineScript, FakeEngineStep } from "@hearth-and-keep/engine/testing";
import { expect, test } from "vitest";
import { startTestServer, tiny } from "./start-test-server.ts";

/** An unexpected error whose message contains request content. */
const defect: FakeEngineStep = {
  reason: "stop",
  get do(): never {
    throw new TypeError("request content");
  },
};
const immediately: FakeEngineScript = () => [defect];
const halfway: FakeEngineScript = () => [
  { do: "write", text: "Hello" },
  { do: "wait", milliseconds: 50 },
  defect,
];

test.each([
  { when: "in a complete response", script: immediately, stream: false, status: 500 },
  { when: "before the first byte of a stream", script: immediately, stream: true, status: 500 },
  { when: "in the middle of a stream", script: halfway, stream: true, status: 200 },
])(
  "an internal error $when is logged with its stack and without its message",
  async ({ script, stream, status }) => {
    await using server = await startTestServer({ models: { tiny }, script });
    const response = await fetch(`${server.url}/api/generate`, {
      method: "POST",
      body: JSON.stringify({ model: "tiny", prompt: "Hello", stream }),
    });
    expect(response.status).toBe(status);
    expect(await response.text()).toContain("internal server error");
    const records = server.logRecords().filter(({ message }) => message === "Internal server error");
    expect(records).toEqual([
      expect.objectContaining({ defect: expect.stringMatching(/^TypeError\n\s+at /u) }),
    ]);
    expect(JSON.stringify(server.logRecords())).not.toContain("request content");
  },
);
