import { expect, test } from "vitest";
import { startTestServer, tiny, tinyVision } from "../test/start-test-server.ts";

const png =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const call = { id: "c1", type: "function", function: { name: "look", arguments: "{}" } };
const user = { role: "user", content: "Look" };

type Sent = { readonly model: string; readonly first?: object; readonly last: object };

/** Sends messages to a fake engine, and returns what it gets: the first message, and what follows the call. */
async function send(path: string, { model, first = user, last }: Sent) {
  await using server = await startTestServer({
    models: { vision: tinyVision, text: tiny },
    script: () => [{ do: "end", reason: "stop" }],
    description: { splitsEvents: true },
  });
  const messages = [first, { role: "assistant", content: "", tool_calls: [call] }, last];
  const response = await fetch(server.url + path, {
    method: "POST",
    body: JSON.stringify({ model, messages, stream: false }),
  });
  await response.text();
  const input = server.requests[0]?.input;
  const [received, , ...rest] = input?.type === "conversation" ? input.conversation.messages : [];
  return { status: response.status, first: received, received: rest };
}

test.each([
  [
    "/v1/chat/completions",
    {
      role: "tool",
      tool_call_id: "c1",
      content: [
        { type: "text", text: "Here" },
        { type: "image_url", image_url: { url: `data:image/png;base64,${png}` } },
      ],
    },
  ],
  ["/api/chat", { role: "tool", tool_call_id: "c1", content: "Here", images: [png] }],
])(
  "an image in a tool result of %s is not rejected: the model sees it after the result",
  async (path, last) => {
    const { status, received } = await send(path, { model: "vision", last });
    expect(status).toBe(200);
    expect(received).toMatchObject([
      { role: "tool", content: "Here", toolCallId: "c1" },
      { role: "user", content: "", images: [{ mediaType: "image/png" }] },
    ]);
  },
);

test("an image in a tool result of a chat completion is replaced by a sentence for a model without vision", async () => {
  const content = [{ type: "image_url", image_url: `data:image/png;base64,${png}` }];
  const last = { role: "tool", tool_call_id: "c1", content };
  const { status, received } = await send("/v1/chat/completions", { model: "text", last });
  expect(status).toBe(200);
  expect(received).toMatchObject([
    { role: "tool", content: expect.stringMatching(/^\[An image is left out/u) },
  ]);
});

test.each(["assistant", "system"])("an image in a message of the role %s is still rejected", async (role) => {
  const content = [{ type: "image_url", image_url: `data:image/png;base64,${png}` }];
  const { status } = await send("/v1/chat/completions", { model: "vision", last: { role, content } });
  expect(status).toBe(400);
});

test("an image that a model without vision was shown before does not end a chat, but a new one is rejected", async () => {
  const content = [
    { type: "text", text: "Look" },
    { type: "image_url", image_url: { url: `data:image/png;base64,${png}` } },
  ];
  const image = { role: "user", content };
  const { status, first } = await send("/v1/chat/completions", { model: "text", first: image, last: user });
  expect(status).toBe(200);
  expect(first).toMatchObject({
    role: "user",
    content: expect.stringMatching(/^Look\n\[An image is left out/u),
  });
  const seen = await send("/v1/chat/completions", { model: "vision", first: image, last: user });
  expect(seen.first).toMatchObject({ content: "Look", images: [{ mediaType: "image/png" }] });
  expect((await send("/v1/chat/completions", { model: "text", last: image })).status).toBe(400);
});
