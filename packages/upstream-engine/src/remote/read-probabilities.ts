import type { TokenProbability } from "@hearth-and-keep/engine";
import { countOf, fieldsOf, listOf, textOf } from "../wire/json-fields.ts";

/** All engines return a token's text, but only some return its id. */
const unknownToken = -1;

type Alternative = TokenProbability["alternatives"][number];

/** Reads the tokens of one chunk, in the chat format (`content`) or the older completions format (`tokens`). */
export function readProbabilities(value: unknown): readonly TokenProbability[] {
  const fields = fieldsOf(value);
  const content = listOf(fields["content"]);
  if (content.length > 0) {
    return content.map((token) => {
      const alternatives = listOf(fieldsOf(token)["top_logprobs"]).map(readOne);
      return { ...readOne(token), alternatives };
    });
  }
  const values = listOf(fields["token_logprobs"]);
  const tops = listOf(fields["top_logprobs"]);
  return listOf(fields["tokens"]).map((text, index) => ({
    ...alternative(text, values[index]),
    alternatives: Object.entries(fieldsOf(tops[index])).map(([other, logProbability]) =>
      alternative(other, logProbability),
    ),
  }));
}

function readOne(value: unknown): Alternative {
  const { id, token, logprob } = fieldsOf(value);
  return { ...alternative(token, logprob), token: countOf(id) ?? unknownToken };
}

function alternative(text: unknown, logProbability: unknown): Alternative {
  return {
    token: unknownToken,
    text: textOf(text),
    logProbability: typeof logProbability === "number" ? logProbability : 0,
  };
}
