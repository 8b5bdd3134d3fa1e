import type { FakeEngineScript } from "@hearth-and-keep/engine/testing";
import { recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import type { TestModelOptions } from "../../apps/hearth/src/test/prepared-models.ts";
import { smol, startTestServer, tiny } from "../../apps/hearth/src/test/start-test-server.ts";
import { type ClientCall, clientCalls, collect } from "./clients.ts";

const clientCount = 32;
const words = [
  ..."apple river stone tiger cloud bread chair green house light money night ocean paper queen radio".split(
    " ",
  ),
  ..."snake table uncle voice water youth zebra beach candy dream eagle metal grape horse island juice".split(
    " ",
  ),
];

/** A small model follows a few examples in its own messages better than an instruction. */
const exampleWords = ["lemon", "pencil", "winter"];
const repeating: TestModelOptions = {
  ...smol,
  extras: {
    parameters: { repeat_penalty: 1 },
    messages: exampleWords.flatMap((word) => [
      { role: "user" as const, content: `Repeat: ${word}` },
      { role: "assistant" as const, content: word },
    ]),
  },
};

type Client = { readonly call: ClientCall; readonly marker: string };

/** The calls alternate between the APIs, and each client has a unique marker. */
const clients: readonly Client[] = words.slice(0, clientCount).flatMap((marker, index) => {
  const call = clientCalls[index % clientCalls.length];
  return call === undefined ? [] : [{ call, marker }];
});

/** Writes the marker of its request letter by letter, so that mixed-up responses would be noticed. */
const repeatMarker: FakeEngineScript = function* (request) {
  const input = JSON.stringify(request.input);
  const marker = words.find((word) => new RegExp(`\\b${word}\\b`, "u").test(input)) ?? "none";
  for (const letter of marker) {
    yield { do: "write", text: letter };
    yield { do: "wait", milliseconds: 1 + (marker.length % 3) };
  }
  yield { do: "end", reason: "stop" };
};

async function sendAll(url: string, model: string): Promise<readonly string[]> {
  return Promise.all(clients.map((client) => sendOne(url, model, client)));
}

function sendOne(url: string, model: string, { call, marker }: Client): Promise<string> {
  const examples = exampleWords.map((word) => `${word} = ${word}, `).join("");
  // Plain completions have no messages, so the text contains the examples.
  const text = call.isPlain ? `${examples}${marker} =` : `Repeat: ${marker}`;
  return collect(call.stream(url, { model, text, maxTokens: 8 }));
}

function foreignMarkersIn(response: string, own: string): readonly string[] {
  return words.filter((word) => word !== own && new RegExp(`\\b${word}\\b`, "iu").test(response));
}

test("thirty-two concurrent clients of the Ollama, OpenAI and Anthropic APIs each get their own response and nothing of another's", async () => {
  await using server = await startTestServer({
    models: { tiny },
    script: repeatMarker,
    limits: { sequences: 8 },
  });
  const responses = await sendAll(server.url, "tiny");
  expect(responses).toEqual(clients.map(({ marker }) => marker));
  recordFigure({
    claim: "families 10",
    text: `fake engine: ${responses.length} of ${clientCount} clients got exactly their own marker`,
    counted: { reached: responses.length, needed: clientCount },
  });
});

test("thirty-two concurrent clients of the Ollama, OpenAI and Anthropic APIs get their own marker from a real model, and no other", {
  timeout: 600_000,
}, async () => {
  await using server = await startTestServer({
    models: { smol: repeating },
    limits: { sequences: 8, contextTokens: 512 },
  });
  const together = await sendAll(server.url, "smol");
  const alone: string[] = [];
  for (const client of clients) alone.push(await sendOne(server.url, "smol", client));
  const foreign = clients.flatMap(({ marker }, index) => foreignMarkersIn(together[index] ?? "", marker));
  expect(foreign).toEqual([]);
  const own = clients.filter(({ marker }, index) => together[index]?.toLowerCase().includes(marker));
  const same = together.filter((response, index) => response === alone[index]);
  const needed = Math.ceil(clientCount * 0.9);
  recordFigure({
    claim: "families 10",
    text: `SmolLM2: own marker in ${own.length} of ${clientCount} responses (needed ${needed}), another client's marker in none; ${same.length} of ${clientCount} responses at temperature 0 equal those of a request alone`,
    counted: { reached: own.length, needed },
  });
  expect(own.length).toBeGreaterThanOrEqual(needed);
});
