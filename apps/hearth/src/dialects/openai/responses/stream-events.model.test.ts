import type { EngineFailure } from "@hearth-and-keep/engine";
import type { FakeEngineScript, FakeEngineStep } from "@hearth-and-keep/engine/testing";
import { APIError, type OpenAI } from "openai";
import type { ResponseStreamEvent } from "openai/resources/responses/responses";
import { expect, test } from "vitest";
import { startResponsesServer } from "./test/start-responses-server.ts";

const died: EngineFailure = { kind: "engine-crashed", exitCode: null, signal: "SIGKILL" };
const think = (text: string): FakeEngineStep => ({ do: "emit", event: { type: "reasoning-delta", text } });
const callStart = (index: number, name: string): FakeEngineStep => ({
  do: "emit",
  event: { type: "tool-call-start", index, id: `call_${index}`, name },
});
const callText = (index: number, argumentsText: string): FakeEngineStep => ({
  do: "emit",
  event: { type: "tool-call-delta", index, argumentsText },
});
const write = (text: string): FakeEngineStep => ({ do: "write", text });
const stop: FakeEngineStep = { do: "end", reason: "stop" };

const tools: OpenAI.Responses.FunctionTool[] = ["look", "listen"].map((name) => ({
  type: "function",
  name,
  parameters: { type: "object", properties: {} },
  strict: false,
}));

async function streamOf(steps: readonly FakeEngineStep[], more: object = {}): Promise<ResponseStreamEvent[]> {
  const script: FakeEngineScript = () => steps;
  await using server = await startResponsesServer({ script });
  const request = { model: "tiny", input: "Hello", tools, stream: true, ...more } as const;
  const events: ResponseStreamEvent[] = [];
  for await (const event of await server.client().responses.create(request)) events.push(event);
  return events;
}

function positionsOf(events: readonly ResponseStreamEvent[]): string[] {
  return events.map((event) => {
    const output = "output_index" in event ? ` ${event.output_index}` : "";
    const inner = "content_index" in event ? `.${event.content_index}` : "";
    return event.type.replace("response.", "") + output + inner;
  });
}

test("reasoning, text and two calls are items in order, each event with its exact position", async () => {
  const events = await streamOf([
    think("Hm"),
    think("m"),
    write("Let"),
    write(" me"),
    callStart(0, "look"),
    callText(0, '{"at":'),
    callText(0, "1}"),
    callStart(1, "listen"),
    stop,
  ]);
  expect(positionsOf(events)).toEqual([
    "created",
    "in_progress",
    "output_item.added 0",
    "reasoning_summary_part.added 0",
    "reasoning_summary_text.delta 0",
    "reasoning_summary_text.delta 0",
    "reasoning_summary_text.done 0",
    "reasoning_summary_part.done 0",
    "output_item.done 0",
    "output_item.added 1",
    "content_part.added 1.0",
    "output_text.delta 1.0",
    "output_text.delta 1.0",
    "output_text.done 1.0",
    "content_part.done 1.0",
    "output_item.done 1",
    "output_item.added 2",
    "function_call_arguments.delta 2",
    "function_call_arguments.delta 2",
    "function_call_arguments.done 2",
    "output_item.done 2",
    "output_item.added 3",
    "function_call_arguments.delta 3",
    "function_call_arguments.done 3",
    "output_item.done 3",
    "completed",
  ]);
  expect(events.map((event) => event.sequence_number)).toEqual(events.map((_event, index) => index));
});

test("the last event has every item complete, and each item keeps its id from its first event to its last", async () => {
  const events = await streamOf([think("Hm"), callStart(0, "look"), callText(0, '{"at":1}'), stop]);
  const last = events.at(-1);
  if (last?.type !== "response.completed") throw new Error("no end");
  expect(last.response.output).toMatchObject([
    { type: "reasoning", status: "completed", summary: [{ type: "summary_text", text: "Hm" }] },
    { type: "function_call", status: "completed", call_id: "call_0", name: "look", arguments: '{"at":1}' },
  ]);
  const done = events.flatMap((event) => (event.type === "response.output_item.done" ? [event.item] : []));
  expect(last.response.output).toEqual(done);
  const added = events.flatMap((event) => (event.type === "response.output_item.added" ? [event.item] : []));
  expect(added.map((item) => item.id)).toEqual(done.map((item) => item.id));
});

test("text after a tool call is not dropped: it is a separate message, in order", async () => {
  const events = await streamOf([write("One"), callStart(0, "look"), callText(0, "{}"), write("Two"), stop]);
  const last = events.at(-1);
  if (last?.type !== "response.completed") throw new Error("no end");
  expect(last.response.output.map((item) => item.type)).toEqual(["message", "function_call", "message"]);
  expect(last.response.output.at(-1)).toMatchObject({ content: [{ text: "Two" }] });
});

test("at the token limit the response and its item are incomplete, not completed", async () => {
  const events = await streamOf([write("Once"), { do: "end", reason: "length" }]);
  expect(events.at(-1)).toMatchObject({
    type: "response.incomplete",
    response: {
      status: "incomplete",
      incomplete_details: { reason: "max_output_tokens" },
      completed_at: null,
      output: [{ type: "message", status: "incomplete", content: [{ text: "Once" }] }],
    },
  });
  const complete = await streamOf([write("Once"), stop]);
  expect(complete.at(-1)).toMatchObject({
    type: "response.completed",
    response: { status: "completed", incomplete_details: null, output: [{ status: "completed" }] },
  });
});

test("a call truncated by the limit is an incomplete item of an incomplete response", async () => {
  const cut = [callStart(0, "look"), callText(0, '{"at": "ra'), { do: "end", reason: "length" }] as const;
  const events = await streamOf(cut);
  expect(events.at(-1)).toMatchObject({
    type: "response.incomplete",
    response: { output: [{ type: "function_call", status: "incomplete", arguments: '{"at": "ra' }] },
  });
});

test("a call that ends late, after text has closed it, does not close the text", async () => {
  const steps = [
    callStart(0, "look"),
    callText(0, "{}"),
    write("Two"),
    { do: "end", reason: "length" },
  ] as const;
  const events = await streamOf(steps);
  expect(events.at(-1)).toMatchObject({
    response: {
      output: [
        { type: "function_call", status: "completed" },
        { type: "message", status: "incomplete" },
      ],
    },
  });
});

test("a malformed call is sent as text, and a truncated one is dropped", async () => {
  await using server = await startResponsesServer({
    script: (_request, turn) =>
      turn === 1
        ? [write("<tool_call>nonsense</tool_call>"), stop]
        : [write("Yes"), write('<tool_call>{"na'), { do: "end", reason: "length" }],
    description: { splitsEvents: false },
  });
  const { responses } = server.client();
  const none = await responses.create({ model: "tiny", input: "Hello", tools });
  expect(none.output_text).toContain("nonsense");
  expect(none.status).toBe("completed");
  const cut = await responses.create({ model: "tiny", input: "Hello", tools });
  expect(cut.output_text).toBe("Yes");
  expect(cut.status).toBe("incomplete");
});

test("without parallel calls only the first call is returned, otherwise both", async () => {
  const steps = [callStart(0, "look"), callText(0, "{}"), callStart(1, "listen"), callText(1, "{}"), stop];
  const one = await streamOf(steps, { parallel_tool_calls: false });
  expect(one.at(-1)).toMatchObject({ response: { output: [{ name: "look" }] } });
  expect(positionsOf(one).filter((position) => position.startsWith("output_item.added"))).toHaveLength(1);
  const both = await streamOf(steps);
  expect(both.at(-1)).toMatchObject({ response: { output: [{ name: "look" }, { name: "listen" }] } });
});

test("empty output results in an empty message", async () => {
  const events = await streamOf([stop]);
  expect(events.at(-1)).toMatchObject({
    type: "response.completed",
    response: { output: [{ type: "message", content: [{ type: "output_text", text: "" }] }] },
  });
});

test("an engine that crashes midway ends the stream with response.failed, and the client throws", async () => {
  await using server = await startResponsesServer({
    script: () => [write("Hel"), { do: "crash", failure: died }],
  });
  const request = { model: "tiny", input: "Hello", stream: true } as const;
  const read = async (): Promise<void> => {
    for await (const event of await server.client().responses.create(request))
      expect(event.type).not.toBe("response.failed");
  };
  await expect(read()).rejects.toThrow(APIError);
  const stream = await fetch(`${server.url}/v1/responses`, { method: "POST", body: JSON.stringify(request) });
  const events = [...(await stream.text()).matchAll(/^data: (.*)$/gmu)].map(
    ([, event]): ResponseStreamEvent => JSON.parse(event ?? ""),
  );
  expect(events.slice(-2).map(({ type }) => type)).toEqual(["error", "response.failed"]);
  expect(events.at(-1)).toMatchObject({
    type: "response.failed",
    response: {
      status: "failed",
      error: { code: expect.any(String), message: expect.any(String) },
      output: [{ type: "message", status: "incomplete", content: [{ text: "Hel" }] }],
    },
  });
  expect(events.map((event) => event.sequence_number)).toEqual(events.map((_event, index) => index));
  await expect.poll(() => server.logRecord["failure"]).toBe("engine-crashed");
});

test("a failure before the engine starts has its own status, even if streaming was requested", async () => {
  await using server = await startResponsesServer({
    script: () => [{ do: "fail", failure: { kind: "template-failed", reason: "roles must alternate" } }],
  });
  const request = { model: "tiny", input: "Hello", stream: true } as const;
  await expect(server.client().responses.create(request)).rejects.toMatchObject({
    status: 400,
    code: "invalid_value",
  });
});

test("events are sent by name, without an end marker", async () => {
  await using server = await startResponsesServer({ script: () => [write("Hi"), stop] });
  const response = await fetch(`${server.url}/v1/responses`, {
    method: "POST",
    body: JSON.stringify({ model: "tiny", input: "Hello", stream: true }),
  });
  expect(response.headers.get("content-type")).toContain("text/event-stream");
  const text = await response.text();
  expect(text.startsWith('event: response.created\ndata: {"type":"response.created"')).toBe(true);
  expect(text).not.toContain("[DONE]");
  expect(text.trimEnd().split("\n\n").at(-1)).toMatch(/^event: response\.completed\n/u);
});
