import type { Response as ResponseBody } from "openai/resources/responses/responses";
import { expect, test } from "vitest";
import { startTestServer, type TestServer, tiny } from "../../../test/start-test-server.ts";
import { startResponsesServer } from "./test/start-responses-server.ts";

const stop = { do: "end", reason: "stop" } as const;

async function responseTo({ url }: TestServer, more: object = {}): Promise<ResponseBody> {
  const response = await fetch(`${url}/v1/responses`, {
    method: "POST",
    body: JSON.stringify({ model: "tiny", input: "Hello", ...more }),
  });
  expect(response.status).toBe(200);
  // The tests check the fields of the official client's type.
  return (await response.json()) as ResponseBody;
}

test("a complete response has every field that clients require, and echoes the request", async () => {
  const look = { type: "function", name: "look", parameters: { type: "object" }, strict: false };
  await using server = await startResponsesServer({ script: () => [{ do: "write", text: "Hello" }, stop] });
  const response = await responseTo(server, {
    instructions: "Be kind",
    metadata: { topic: "greeting" },
    tools: [look],
    tool_choice: "none",
    parallel_tool_calls: false,
    truncation: "auto",
  });
  expect(response).toMatchObject({
    id: expect.stringMatching(/^resp_[0-9a-f]{48}$/u),
    object: "response",
    created_at: expect.any(Number),
    completed_at: expect.any(Number),
    status: "completed",
    error: null,
    incomplete_details: null,
    instructions: "Be kind",
    metadata: { topic: "greeting" },
    model: "tiny",
    tools: [look],
    tool_choice: "none",
    parallel_tool_calls: false,
    truncation: "auto",
    previous_response_id: null,
    reasoning: { effort: null, summary: null },
    text: { format: { type: "text" } },
    access_programs: null,
    output: [{ type: "message", content: [{ type: "output_text", text: "Hello" }] }],
    usage: {
      input_tokens: 1,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 1,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 2,
    },
  });
  await expect.poll(() => server.logRecord["stopReason"]).toBe("stop");
  expect(server.logRecord).toMatchObject({ model: "tiny:latest", promptTokens: 1, outputTokens: 1 });
});

test("reasoning tokens are counted separately in the usage", async () => {
  await using server = await startResponsesServer({
    script: () => [
      { do: "emit", event: { type: "reasoning-delta", text: "so it is" } },
      ...["a ", "b ", "c ", "d "].map((text) => ({ do: "write", text }) as const),
      stop,
    ],
  });
  const { usage } = await responseTo(server);
  expect(usage).toMatchObject({ output_tokens: 4, output_tokens_details: { reasoning_tokens: 3 } });
});

test("a thousand ids of responses and messages are all different", async () => {
  await using server = await startResponsesServer({ script: () => [{ do: "write", text: "Hi" }, stop] });
  const ids: (string | undefined)[] = [];
  for (let round = 0; round < 20; round += 1) {
    const responses = await Promise.all(Array.from({ length: 25 }, () => responseTo(server)));
    for (const { id, output } of responses) ids.push(id, output[0]?.id);
  }
  expect(new Set(ids).size).toBe(1000);
});

test("the model's temperature and top_p take precedence over the server's, and the request's over the model's", async () => {
  const own = { ...tiny, extras: { parameters: { temperature: 0.3, top_p: 0.5 } } };
  await using server = await startTestServer({ models: { own }, script: () => [stop] });
  const response = await responseTo(server, { model: "own" });
  expect(response).toMatchObject({ temperature: 0.3, top_p: 0.5 });
  await responseTo(server, { model: "own", temperature: 1 });
  expect(server.requests.map(({ sampling }) => [sampling.temperature, sampling.topP])).toEqual([
    [0.3, 0.5],
    [1, 0.5],
  ]);
});
