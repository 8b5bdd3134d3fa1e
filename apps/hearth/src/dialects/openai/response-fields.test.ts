import { expect, test } from "vitest";
import { writeTokens } from "./response-fields.ts";

test("logprob bytes [239,191,189] for parts of an emoji: the bytes are unknown, so they are null", () => {
  const part = { token: 1, text: "\uFFFD", logProbability: -0.5 };
  const whole = { token: 2, text: "é", logProbability: Number.NEGATIVE_INFINITY };
  expect(writeTokens([{ ...part, alternatives: [whole, part] }])).toEqual([
    {
      token: "\uFFFD",
      logprob: -0.5,
      bytes: null,
      top_logprobs: [
        { token: "é", logprob: -9999, bytes: [195, 169] },
        { token: "\uFFFD", logprob: -0.5, bytes: null },
      ],
    },
  ]);
});
