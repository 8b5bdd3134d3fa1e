import type { GenerateRequest } from "@hearth-and-keep/engine";
import type { Script } from "@hearth-and-keep/engine/testing";
import { expect, test } from "vitest";
import { type FamilyCall, familyCalls } from "./family-calls.ts";
import { startTestServer, type TestServer, tiny } from "./start-test-server.ts";

/** A row of the specification's table: where the engine finds it, and its value absent, of the model, of the request. */
type ParameterRow = {
  readonly parameter: string;
  /** In a model's parameters and in `options`. */
  readonly option: string;
  /** At the top of a body of the other families. */
  readonly topLevel: string;
  readonly values: readonly [usual: number, ofModel: number, asked: number];
  readonly read: (request: GenerateRequest) => number;
};

// biome-ignore format: a table is read down its columns
const rows: readonly ParameterRow[] = [
  { parameter: "temperature",    option: "temperature",    topLevel: "temperature", values: [0.7, 0.3, 0.9],  read: ({ sampling }) => sampling.temperature },
  { parameter: "top p",          option: "top_p",          topLevel: "top_p",       values: [0.9, 0.5, 0.8],  read: ({ sampling }) => sampling.topP },
  { parameter: "top k",          option: "top_k",          topLevel: "top_k",       values: [40, 10, 5],      read: ({ sampling }) => sampling.topK },
  { parameter: "most tokens",    option: "num_predict",    topLevel: "max_tokens",  values: [4096, 100, 8],   read: ({ mostTokens }) => mostTokens },
];

const parameterCases = familyCalls.flatMap((family) =>
  rows
    // The messages family refuses a request without it: its own test is below.
    .filter(({ option }) => !(family.name === "messages" && option === "num_predict"))
    .map((row) => ({ family: family.name, parameter: row.parameter, row, call: family })),
);

/** Stops are looked for in what this says; the rest is about what the engine is asked. */
const script: Script = () => [
  ...["one", " #", " two", " @", " three"].map((text) => ({ do: "say", text }) as const),
  { do: "end", reason: "stop" } as const,
];

function startWith(parameters: Readonly<Record<string, unknown>>): Promise<TestServer> {
  return startTestServer({ models: { plain: tiny, set: { ...tiny, extras: { parameters } } }, script });
}

/** Three calls, as the issue names them: nobody says anything, the model does, the request does too. */
async function engineReceived(
  { option, topLevel, values, read }: Omit<ParameterRow, "parameter">,
  call: FamilyCall,
): Promise<readonly number[]> {
  const [, ofModel, asked] = values;
  await using server = await startWith({ [option]: ofModel });
  const name = call.name === "local-runner" ? option : topLevel;
  await call.ask(server, { model: "plain" });
  await call.ask(server, { model: "set" });
  await call.ask(server, { model: "set", settings: { [name]: asked } });
  return server.requests.map(read);
}

test.for(parameterCases)(
  "the engine receives $parameter of the $family family: the default, the model's, the request's",
  async ({ row, call }) => {
    expect(await engineReceived(row, call)).toEqual(row.values);
  },
);

test.for(familyCalls)(
  "the repeat penalty of the $name family is 1.1 unless the model says otherwise",
  async (call) => {
    const { values, ...row } = {
      option: "repeat_penalty",
      topLevel: "repeat_penalty",
      values: [1.1, 1.5, 1] as const,
      read: ({ sampling }: GenerateRequest) => sampling.repeatPenalty,
    };
    const received = await engineReceived({ ...row, values }, call);
    expect(received.slice(0, 2)).toEqual(values.slice(0, 2));
    // Anthropic's API has no such parameter, so there it stays the model's.
    expect(received[2]).toBe(call.name === "messages" ? 1.5 : 1);
  },
);

test.for(familyCalls)(
  "frequency_penalty of the $name family is added, and leaves the repeat penalty as it is",
  async (call) => {
    await using server = await startWith({});
    await call.ask(server, { model: "plain" });
    await call.ask(server, { model: "plain", settings: { frequency_penalty: 0.5 } });
    const seen = server.requests.map(({ sampling }) => [sampling.frequencyPenalty, sampling.repeatPenalty]);
    expect(seen).toEqual([
      [0, 1.1],
      [0.5, 1.1],
    ]);
  },
);

test.for(familyCalls)("a seed of the $name family is random, the model's, the request's", async (call) => {
  await using server = await startWith({ seed: 7 });
  for (const round of [1, 2, 3]) {
    expect(await call.ask(server, { model: "plain" }), `round ${round}`).not.toBe("");
  }
  await call.ask(server, { model: "set" });
  await call.ask(server, { model: "set", settings: { seed: 9 } });
  const seeds = server.requests.map(({ sampling }) => sampling.seed);
  expect(new Set(seeds.slice(0, 3)).size).toBe(3);
  expect(seeds.slice(3)).toEqual([7, 9]);
});

test.for(familyCalls)(
  "stop sequences of the $name family are none, the model's, the request's",
  async (call) => {
    await using server = await startWith({ stop: ["@"] });
    expect(await call.ask(server, { model: "plain" })).toBe("one # two @ three");
    expect(await call.ask(server, { model: "set" })).toBe("one # two ");
    expect(await call.ask(server, { model: "set", settings: { stop: ["#"] } })).toBe("one ");
    expect(await call.ask(server, { model: "plain", settings: { stop: "two" } })).toBe("one # ");
  },
);

test("the messages family refuses a request without max_tokens by its name, and hands on what it is given", async () => {
  await using server = await startWith({ num_predict: 100 });
  const send = (limit: object) =>
    fetch(`${server.url}/alt/v1/messages`, {
      method: "POST",
      body: JSON.stringify({ model: "set", messages: [{ role: "user", content: "Hi" }], ...limit }),
    });
  const refused = await send({});
  expect(refused.status).toBe(400);
  expect(await refused.text()).toContain("max_tokens: Field required");
  expect((await send({ max_tokens: 8 })).status).toBe(200);
  expect(server.requests.map(({ mostTokens }) => mostTokens)).toEqual([8]);
});
