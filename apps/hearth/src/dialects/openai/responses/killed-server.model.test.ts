import { setTimeout as sleep } from "node:timers/promises";
import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import { makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { openMachineKey } from "../../../encryption/machine-key.ts";
import { createRecordSeal } from "./record-seal.ts";
import { KilledServer } from "./test/killed-server.ts";
import { findInClear, readStoredFiles } from "./test/stored-files.ts";

const keys = ["k0", "k1", "k2", "k3", "k4"];
const size = chooseSize({
  ci: { conversations: 5, turns: 2, kills: 1 },
  show: { conversations: 200, turns: 10, kills: 5 },
  nightly: { conversations: 200, turns: 10, kills: 50 },
});
const totalTurns = size.conversations * size.turns;
const marker = "harbour-master";

type Turn = { readonly id: string; readonly output: unknown; readonly text: string };
type Talk = {
  readonly key: string;
  readonly name: string;
  /** Of a conversation object; otherwise each turn continues the response before it. */
  readonly conversationId: string | undefined;
  /** Those that the client knows to be complete. */
  readonly turns: Turn[];
};

async function startTalk(server: KilledServer, index: number): Promise<Talk> {
  const key = keys[index % keys.length] ?? "";
  const name = `${marker}-${key}-${index}`;
  // Half of each key's conversations.
  if (Math.floor(index / keys.length) % 2 === 0) return { key, name, conversationId: undefined, turns: [] };
  const { status, text } = await server.send(key, "/v1/conversations", {});
  expect(status, text).toBe(200);
  return { key, name, conversationId: String(Object(JSON.parse(text)).id), turns: [] };
}

async function say(server: KilledServer, { key, name, conversationId, turns }: Talk): Promise<void> {
  const input = `${name}-${turns.length}.`;
  const { status, text } = await server.send(key, "/v1/responses", {
    model: "tiny",
    input,
    max_output_tokens: 2,
    stream: turns.length % 2 === 0,
    ...(conversationId === undefined ? {} : { conversation: conversationId }),
    ...(conversationId === undefined ? { previous_response_id: turns.at(-1)?.id ?? null } : {}),
  });
  expect(status, text).toBe(200);
  const { id, output } = Object(JSON.parse(text));
  expect(id, text).toMatch(/^resp_/u);
  turns.push({ id, output, text: input });
}

/** Kills the server at even intervals of the work, a few milliseconds later each time. */
async function killRepeatedly(server: KilledServer, countTurns: () => number): Promise<void> {
  for (let kill = 1; kill <= size.kills; kill += 1) {
    const due = Math.floor((kill * totalTurns) / (size.kills + 1));
    while (countTurns() < due) await sleep(5);
    await sleep((kill * 7) % 40);
    await server.kill();
  }
}

/** Every complete turn is read as it was sent by its own key, and by no other. */
async function countKept(server: KilledServer, talk: Talk): Promise<number> {
  const other = keys[(keys.indexOf(talk.key) + 1) % keys.length] ?? "";
  for (const { id, output, text } of talk.turns) {
    const own = await server.send(talk.key, `/v1/responses/${id}`);
    expect([own.status, Object(JSON.parse(own.text))], own.text).toMatchObject([200, { id, output }]);
    const items = await server.send(talk.key, `/v1/responses/${id}/input_items`);
    expect(items.text).toContain(text);
    expect((await server.send(other, `/v1/responses/${id}`)).status).toBe(404);
    const continued = { model: "tiny", input: "x", previous_response_id: id };
    expect((await server.send(other, "/v1/responses", continued)).status).toBe(400);
  }
  await expectContinues(server, talk, other);
  return talk.turns.length;
}

async function expectContinues(server: KilledServer, talk: Talk, other: string): Promise<void> {
  if (talk.conversationId !== undefined) {
    const path = `/v1/conversations/${talk.conversationId}/items?order=asc&limit=100`;
    const { text } = await server.send(talk.key, path);
    const positions = talk.turns.map((turn) => text.indexOf(turn.text));
    expect(positions).toEqual(positions.filter((position) => position >= 0).toSorted((a, b) => a - b));
    expect((await server.send(other, path)).status).toBe(404);
  }
  const before = talk.turns.length;
  await say(server, { ...talk, turns: [...talk.turns] });
  expect(talk.turns).toHaveLength(before);
}

async function expectSealed(server: KilledServer, talks: readonly Talk[]): Promise<number> {
  const files = await readStoredFiles(server.responseFolder);
  const ids = talks.flatMap(({ turns }) => turns.slice(0, 1).map(({ id }) => id));
  expect(findInClear(files, [marker, "assistant", "output_text", ...ids.slice(0, 20)])).toEqual([]);
  const seal = createRecordSeal(await openMachineKey(server.keyFile));
  const opened = files.filter(({ name, content }) => {
    const owned = seal.open(name.replace(".sealed", ""), content);
    return JSON.stringify(owned?.record.input).includes(marker);
  });
  expect(opened).toHaveLength(files.length);
  return files.length;
}

test(`${size.conversations} conversations of 5 keys survive ${size.kills} kills of the server, sealed on disk`, {
  timeout: 3_600_000,
}, async () => {
  await using folder = await makeTemporaryFolder("killed-server");
  await using server = await KilledServer.start(folder.path, keys);
  const talks = await Promise.all(
    Array.from({ length: size.conversations }, (_, index) => startTalk(server, index)),
  );
  const countTurns = (): number => talks.reduce((sum, { turns }) => sum + turns.length, 0);
  const talkAll = async (key: string): Promise<void> => {
    for (let turn = 0; turn < size.turns; turn += 1) {
      for (const talk of talks.filter((each) => each.key === key)) await say(server, talk);
    }
  };
  await Promise.all([killRepeatedly(server, countTurns), ...keys.map(talkAll)]);
  expect([server.kills, countTurns()]).toEqual([size.kills, totalTurns]);
  const files = await expectSealed(server, talks);
  const kept = await Promise.all(
    keys.map(async (key) => {
      let count = 0;
      for (const talk of talks.filter((each) => each.key === key)) count += await countKept(server, talk);
      return count;
    }),
  );
  const reached = kept.reduce((sum, count) => sum + count, 0);
  const text = `${reached} of ${totalTurns} acknowledged turns of ${size.conversations} conversations kept across ${server.kills} kills, 0 read by another key, 0 of ${files} files with text in clear`;
  recordFigure({ claim: "agents 5", text, counted: { reached, needed: totalTurns } });
});
