import type { FakeEngineScript } from "@hearth-and-keep/engine/testing";
import { recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import {
  smol,
  startTestServer,
  type TestModelOptions,
  tiny,
} from "../../apps/hearth/src/test/start-test-server.ts";
import { collect, type Speaker, speakers } from "./clients.ts";

const clientCount = 32;
const words = [
  ..."apple river stone tiger cloud bread chair green house light money night ocean paper queen radio".split(
    " ",
  ),
  ..."snake table uncle voice water youth zebra beach candy dream eagle metal grape horse island juice".split(
    " ",
  ),
];

/** Few parameters learn what to do from a few turns that the model carries, better than from being told. */
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

type Client = { readonly speaker: Speaker; readonly marker: string };

/** Families take turns, and each client has a marker that no other has. */
const clients: readonly Client[] = words.slice(0, clientCount).flatMap((marker, index) => {
  const speaker = speakers[index % speakers.length];
  return speaker === undefined ? [] : [{ speaker, marker }];
});

/** Says the marker of its request one letter at a time, so that answers have every chance to be mixed up. */
const repeatMarker: FakeEngineScript = function* (request) {
  const asked = JSON.stringify(request.input);
  const marker = words.find((word) => new RegExp(`\\b${word}\\b`, "u").test(asked)) ?? "none";
  for (const letter of marker) {
    yield { do: "write", text: letter };
    yield { do: "wait", milliseconds: 1 + (marker.length % 3) };
  }
  yield { do: "end", reason: "stop" };
};

async function askAll(url: string, model: string): Promise<readonly string[]> {
  return Promise.all(clients.map((client) => askOne(url, model, client)));
}

function askOne(url: string, model: string, { speaker, marker }: Client): Promise<string> {
  const examples = exampleWords.map((word) => `${word} = ${word}, `).join("");
  // Plain completions know no turns, so the examples stand in the text.
  const text = speaker.isPlain ? `${examples}${marker} =` : `Repeat: ${marker}`;
  return collect(speaker.ask(url, { model, text, maxTokens: 8 }));
}

function foreignIn(answer: string, own: string): readonly string[] {
  return words.filter((word) => word !== own && new RegExp(`\\b${word}\\b`, "iu").test(answer));
}

test("thirty-two clients of all families at once each get their own answer and nothing of another's", async () => {
  await using server = await startTestServer({
    models: { tiny },
    script: repeatMarker,
    limits: { sequences: 8 },
  });
  const answers = await askAll(server.url, "tiny");
  expect(answers).toEqual(clients.map(({ marker }) => marker));
  recordFigure({
    claim: "families 10",
    text: `scripted engine: ${answers.length} of ${clientCount} clients got exactly their own marker`,
    counted: { reached: answers.length, needed: clientCount },
  });
});

test("thirty-two clients of all families at once hear their own marker from a real model, and no other", {
  timeout: 600_000,
}, async () => {
  await using server = await startTestServer({
    models: { smol: repeating },
    limits: { sequences: 8, contextTokens: 512 },
  });
  const together = await askAll(server.url, "smol");
  const alone: string[] = [];
  for (const client of clients) alone.push(await askOne(server.url, "smol", client));
  const foreign = clients.flatMap(({ marker }, index) => foreignIn(together[index] ?? "", marker));
  expect(foreign).toEqual([]);
  const own = clients.filter(({ marker }, index) => together[index]?.toLowerCase().includes(marker));
  const same = together.filter((answer, index) => answer === alone[index]);
  const needed = Math.ceil(clientCount * 0.9);
  recordFigure({
    claim: "families 10",
    text: `SmolLM2: own marker in ${own.length} of ${clientCount} answers (needed ${needed}), a foreign one in none; ${same.length} of ${clientCount} answers at temperature 0 equal those given alone`,
    counted: { reached: own.length, needed },
  });
  expect(own.length).toBeGreaterThanOrEqual(needed);
});
