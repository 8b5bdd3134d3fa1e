import type { TokenProbability } from "@hearth-and-keep/engine";
import { countOf, fieldsOf, listOf, textOf } from "../wire/json-fields.ts";

/** Engines tell a token's text; its number only some of them do. */
const unknownToken = -1;

type Alternative = TokenProbability["alternatives"][number];

/** The tokens behind one piece, in the form of chats (`content`) or in the older one of completions (`tokens`). */
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
