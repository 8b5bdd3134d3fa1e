import type { EngineRequest } from "@hearth-and-keep/engine";
import type { FakeEngineScript } from "@hearth-and-keep/engine/testing";
import { expect, test } from "vitest";
import { type ProtocolRequest, protocolRequests } from "./protocol-requests.ts";
import { startTestServer, type TestServer, tiny } from "./start-test-server.ts";

/** A row of the specification's parameter table, with the default, the model's and the request's value. */
type ParameterRow = {
  readonly parameter: string;
  /** In a model's parameters and in `options`. */
  readonly option: string;
  /** At the top level in the other APIs. */
  readonly topLevel: string;
  readonly values: readonly [defaultValue: number, modelValue: number, requestValue: number];
  readonly read: (request: EngineRequest) => number;
};

// biome-ignore format: a table is read down its columns
const rows: readonly ParameterRow[] = [
  { parameter: "temperature",    option: "temperature",    topLevel: "temperature", values: [0.7, 0.3, 0.9],  read: ({ sampling }) => sampling.temperature },
  { parameter: "top p",          option: "top_p",          topLevel: "top_p",       values: [0.9, 0.5, 0.8],  read: ({ sampling }) => sampling.topP },
  { parameter: "top k",          option: "top_k",          topLevel: "top_k",       values: [40, 10, 5],      read: ({ sampling }) => sampling.topK },
  { parameter: "max tokens",     option: "num_predict",    topLevel: "max_tokens",  values: [4096, 100, 8],   read: ({ maxTokens }) => maxTokens },
];

const parameterCases = protocolRequests.flatMap((protocol) =>
  rows
    // The Anthropic API requires it: see the last test.
    .filter(({ option }) => !(protocol.name === "Anthropic" && option === "num_predict"))
    .map((row) => ({ protocol: protocol.name, parameter: row.parameter, row, request: protocol })),
);

/** Output in which the stop sequences occur. */
const script: FakeEngineScript = () => [
  ...["one", " #", " two", " @", " three"].map((text) => ({ do: "write", text }) as const),
  { do: "end", reason: "stop" } as const,
];

function startWith(parameters: Readonly<Record<string, unknown>>): Promise<TestServer> {
  return startTestServer({
    models: { plain: tiny, set: { ...tiny, extras: { parameters } } },
    script,
    seed: -1,
  });
}

/** Three requests: without the parameter, with the model's, and with one of their own. */
async function engineReceived(
  { option, topLevel, values, read }: Omit<ParameterRow, "parameter">,
  request: ProtocolRequest,
): Promise<readonly number[]> {
  const [, modelValue, requestValue] = values;
  await using server = await startWith({ [option]: modelValue });
  const name = request.name === "Ollama" ? option : topLevel;
  await request.send(server, { model: "plain" });
  await request.send(server, { model: "set" });
  await request.send(server, { model: "set", settings: { [name]: requestValue } });
  return server.requests.map(read);
}

test.for(parameterCases)(
  "the engine receives $parameter in the $protocol API: the default, the model's, the request's",
  async ({ row, request }) => {
    expect(await engineReceived(row, request)).toEqual(row.values);
  },
);

test.for(protocolRequests)(
  "the repeat penalty in the $name API is 1.1 unless the model sets it",
  async (request) => {
    const { values, ...row } = {
      option: "repeat_penalty",
      topLevel: "repeat_penalty",
      values: [1.1, 1.5, 1] as const,
      read: ({ sampling }: EngineRequest) => sampling.repeatPenalty,
    };
    const received = await engineReceived({ ...row, values }, request);
    expect(received.slice(0, 2)).toEqual(values.slice(0, 2));
    // The Anthropic API has no such parameter, so the model's value stays.
    expect(received[2]).toBe(request.name === "Anthropic" ? 1.5 : 1);
  },
);

test.for(protocolRequests)(
  "frequency_penalty in the $name API is additive and leaves the repeat penalty unchanged",
  async (request) => {
    await using server = await startWith({});
    await request.send(server, { model: "plain" });
    await request.send(server, { model: "plain", settings: { frequency_penalty: 0.5 } });
    const seen = server.requests.map(({ sampling }) => [sampling.frequencyPenalty, sampling.repeatPenalty]);
    expect(seen).toEqual([
      [0, 1.1],
      [0.5, 1.1],
    ]);
  },
);

test.for(protocolRequests)(
  "the seed in the $name API is random, the model's, the request's",
  async (request) => {
    await using server = await startWith({ seed: 7 });
    for (const round of [1, 2, 3]) {
      expect(await request.send(server, { model: "plain" }), `round ${round}`).not.toBe("");
    }
    await request.send(server, { model: "set" });
    await request.send(server, { model: "set", settings: { seed: 9 } });
    const seeds = server.requests.map(({ sampling }) => sampling.seed);
    expect(new Set(seeds.slice(0, 3)).size).toBe(3);
    expect(seeds.slice(3)).toEqual([7, 9]);
  },
);

test.for(protocolRequests)(
  "stop sequences in the $name API are none, the model's, the request's",
  async (request) => {
    await using server = await startWith({ stop: ["@"] });
    expect(await request.send(server, { model: "plain" })).toBe("one # two @ three");
    expect(await request.send(server, { model: "set" })).toBe("one # two ");
    expect(await request.send(server, { model: "set", settings: { stop: ["#"] } })).toBe("one ");
    expect(await request.send(server, { model: "plain", settings: { stop: "two" } })).toBe("one # ");
  },
);

test("the Anthropic API requires max_tokens, and passes it to the engine", async () => {
  await using server = await startWith({ num_predict: 100 });
  const send = (limit: object) =>
    fetch(`${server.url}/alt/v1/messages`, {
      method: "POST",
      body: JSON.stringify({ model: "set", messages: [{ role: "user", content: "Hi" }], ...limit }),
    });
  const rejected = await send({});
  expect(rejected.status).toBe(400);
  expect(await rejected.text()).toContain("max_tokens: Field required");
  expect((await send({ max_tokens: 8 })).status).toBe(200);
  expect(server.requests.map(({ maxTokens }) => maxTokens)).toEqual([8]);
});
