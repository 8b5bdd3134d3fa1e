import { isDeepStrictEqual } from "node:util";
import type { FakeEngineScript } from "@hearth-and-keep/engine/testing";
import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { type Answer, type AnswerPath, answerPaths } from "./answer-paths.ts";
import { type DamagedCall, damagedCall, damageKinds } from "./damaged-calls.ts";
import { startTestServer, type TestServer, tiny } from "./start-test-server.ts";

const size = chooseSize({ ci: 200, show: 2000, nightly: 5000 });

/** A server whose engine writes the output of the current call. Unloading the model makes the next template take effect. */
function startWriter(current: () => DamagedCall): Promise<TestServer> {
  const script: FakeEngineScript = () => [
    ...current().chunks.map((text) => ({ do: "write", text }) as const),
    { do: "end", reason: current().reason },
  ];
  const description = {
    get chatTemplate() {
      return current().template;
    },
  };
  return startTestServer({ models: { tiny }, script, description, discardsLog: true });
}

async function send(server: TestServer, { path, body, read }: AnswerPath): Promise<Answer> {
  const response = await fetch(server.url + path, { method: "POST", body: JSON.stringify(body) });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${path} returned ${response.status}: ${text}`);
  return read(text);
}

async function unload({ url }: TestServer): Promise<void> {
  await fetch(`${url}/api/generate`, {
    method: "POST",
    body: JSON.stringify({ model: "tiny", keep_alive: 0 }),
  });
}

const noAnswer: Answer = { calls: [], text: "", isTruncated: false, endsWithCalls: undefined };

type Outcome = { readonly answer: Answer; readonly faults: readonly string[] };

/** Sends a call on every path, and lists how the answers differ from each other and from what is expected. */
async function outcomeOf(server: TestServer, call: DamagedCall): Promise<Outcome> {
  const faults: string[] = [];
  let first: Answer | undefined;
  for (const path of answerPaths) {
    const answer = await send(server, path).catch((error: unknown) => ({ ...noAnswer, text: String(error) }));
    first ??= answer;
    const { endsWithCalls } = answer;
    if (!isEqual(answer, first)) faults.push(`${path.name} differs: ${JSON.stringify([first, answer])}`);
    const isWrongReason =
      endsWithCalls !== undefined && !answer.isTruncated && endsWithCalls !== answer.calls.length > 0;
    if (isWrongReason) faults.push(`${path.name} has the wrong reason`);
  }
  const answer = first ?? noAnswer;
  if (answer.isTruncated !== (call.reason === "length")) faults.push("wrong truncation");
  const expected = [{ name: call.name, arguments: call.arguments }];
  if (call.arguments !== undefined && !isDeepStrictEqual(answer.calls, expected))
    faults.push(`unexpected: ${JSON.stringify(answer)}`);
  if (call.reason === "length" && answer.text.includes("city")) faults.push("half a call as text");
  return {
    answer,
    faults: faults.map((fault) => `${call.format}, ${call.damage}: ${call.chunks.join("")} ${fault}`),
  };
}

function isEqual(one: Answer, other: Answer): boolean {
  return isDeepStrictEqual({ ...one, endsWithCalls: 0 }, { ...other, endsWithCalls: 0 });
}

test("a damaged call has another outcome in another API: it has the same on all five paths, with valid JSON", {
  timeout: 900_000,
}, async () => {
  let current = damagedCall(0);
  await using server = await startWriter(() => current);
  const calls = Array.from({ length: size }, (_, index) => damagedCall(index));
  const counts = { calls: 0, texts: 0, truncated: 0 };
  const faults: string[] = [];
  for (const ofFormat of Map.groupBy(calls, (call) => call.format).values()) {
    for (const call of ofFormat) {
      current = call;
      const outcome = await outcomeOf(server, call);
      faults.push(...outcome.faults);
      if (outcome.answer.isTruncated) counts.truncated += 1;
      else if (outcome.answer.calls.length > 0) counts.calls += 1;
      else counts.texts += 1;
    }
    await unload(server);
  }
  expect(faults).toEqual([]);
  const formats = new Set(calls.map(({ format }) => format)).size;
  const text = `${size} damaged calls (${damageKinds} kinds of damage, ${formats} formats) have the same outcome on ${answerPaths.length} paths: ${counts.calls} calls with valid JSON, ${counts.texts} texts, ${counts.truncated} cut by the limit`;
  process.stdout.write(`${text}\n`);
  recordFigure({ claim: "agents 6", text, counted: { reached: size, needed: 200 } });
});

test("a required call that the token limit cuts is half-written JSON: it is neither a call nor text on any path", async () => {
  const opening = '<tool_call>\n{"name": "weather", "arguments": {"city": "Bern';
  const cut: DamagedCall = { format: "", damage: "", template: null, chunks: [opening], reason: "length" };
  const whole: DamagedCall = { ...cut, chunks: [`${opening}"}}\n</tool_call>`], reason: "stop" };
  let current = cut;
  await using server = await startWriter(() => current);
  for (const path of answerPaths) {
    const forced = { ...path, body: { ...path.body, ...path.required } };
    current = cut;
    expect(await send(server, forced), path.name).toMatchObject({ calls: [], text: "", isTruncated: true });
    current = whole;
    expect(await send(server, forced), path.name).toMatchObject({
      calls: [{ name: "weather", arguments: { city: "Bern" } }],
      text: "",
      isTruncated: false,
    });
  }
});
