import type { Engine, Tool } from "@hearth-and-keep/engine";
import { createFakeEngine } from "@hearth-and-keep/engine/testing";
import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import { afterAll, beforeAll, expect, test } from "vitest";
import { generate } from "./generate.ts";
import type { ResolvedRequest } from "./request.ts";
import { resolveSampling } from "./sampling.ts";
import { loadSmol } from "./test/load-smol.ts";
import { matchesSchema } from "./tool-calls/matches-schema.ts";

const never = new AbortController().signal;
let smol: Engine;
beforeAll(async () => {
  smol = await loadSmol();
}, 300_000);
afterAll(() => smol.unload());

const parameters = {
  type: "object",
  properties: { city: { enum: ["Bern", "Rome"] }, days: { type: "integer", minimum: 1, maximum: 9 } },
  required: ["city", "days"],
  additionalProperties: false,
} as const;
const weather: Tool = { name: "weather", parameters, isStrict: true };

/** Writes an invalid call; under a grammar the weights write. */
function createForgetful(): Engine {
  const text = '<tool_call>\n{"name": "weather", "arguments": {"town": "Bern"}}\n</tool_call>';
  const invalid = createFakeEngine(() => [
    { do: "write", text },
    { do: "end", reason: "stop" },
  ]);
  return {
    ...smol,
    generate: (request, signal) =>
      (request.constraint === undefined ? invalid : smol).generate(request, signal),
  };
}

test("on real weights an invalid call of a strict tool is valid when it is generated again", async () => {
  const attempts = chooseSize({ ci: 6, show: 100, nightly: 500 });
  const messages = [{ role: "user", content: "How is the weather?" }] as const;
  const conversation = { messages, tools: [weather] };
  let valid = 0;
  for (let seed = 0; seed < attempts; seed += 1) {
    const request: ResolvedRequest = {
      ...resolveSampling({ temperature: 1.5, seed, maxTokens: 200 }, {}),
      toolChoice: { type: "auto" },
      cachePartition: "",
      input: { type: "conversation", conversation },
    };
    const events = await Array.fromAsync(generate(createForgetful(), request, never));
    const [call, ...others] = events.flatMap((event) => (event.type === "tool-call-end" ? [event] : []));
    if (others.length === 0 && call !== undefined && matchesSchema(call.arguments, parameters)) valid += 1;
  }
  expect(valid).toBe(attempts);
  recordFigure({
    claim: "agents 6",
    text: `${valid} of ${attempts} invalid calls of a strict tool, generated again by SmolLM2 at temperature 1.5, are valid`,
    counted: { reached: valid, needed: attempts },
  });
});
