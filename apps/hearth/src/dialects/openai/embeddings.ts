import { type Answer, jsonAnswer } from "@hearth-and-keep/http-service";
import type { HearthCall, HearthParts } from "../../dependencies.ts";
import { requestFailure } from "../../failures.ts";
import { embed } from "../../generation/embed.ts";
import { readKeepAlive } from "./read-keep-alive.ts";
import { describeFor } from "./require-model.ts";
import type { CreateEmbeddingsBody } from "./schema.ts";

export async function answerCreateEmbeddings(
  call: HearthCall<CreateEmbeddingsBody>,
  parts: HearthParts,
): Promise<Answer> {
  const { body, signal } = call;
  // Models that write text give vectors as well, so the engine decides.
  const model = await describeFor(call, parts);
  const texts = readTexts(body);
  const contextTokens = body.options?.num_ctx ?? undefined;
  const { vectors, tokens, loadMilliseconds, queueMilliseconds } = await embed(
    parts.scheduler,
    {
      model,
      texts,
      truncates: false,
      ...readKeepAlive(body.keep_alive),
      ...(contextTokens === undefined ? {} : { contextTokens }),
    },
    signal,
  );
  call.note({ promptTokens: tokens, loadMilliseconds, queueMilliseconds });
  return jsonAnswer({
    object: "list",
    data: vectors.map((vector, index) => ({ object: "embedding", index, embedding: shape(vector, body) })),
    model: body.model,
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  });
}

function readTexts({ input }: CreateEmbeddingsBody): readonly string[] {
  const inputs = typeof input === "string" ? [input] : input;
  return inputs.map((each) => {
    if (each === "") throw invalid("input", "holds an empty text");
    if (typeof each === "string") return each;
    throw invalid("input", `holds token ids of another model's vocabulary; send text ${forLangChain}`);
  });
}

const forLangChain = "(in LangChain set check_embedding_ctx_length=False)";

function invalid(place: string, reason: string) {
  return requestFailure({ kind: "request-invalid", place, reason });
}

/** The first dimensions of a vector, at a length of one again: what this family's clients compare by. */
function shape(vector: Float32Array, body: CreateEmbeddingsBody): string | readonly number[] {
  const dimensions = body.dimensions ?? vector.length;
  if (dimensions > vector.length) {
    throw invalid("dimensions", `must be at most ${vector.length} for this model`);
  }
  const cut = vector.subarray(0, dimensions);
  const length = Math.hypot(...cut);
  const shaped = length === 0 ? cut : cut.map((value) => value / length);
  return body.encoding_format === "base64" ? encode(shaped) : [...shaped];
}

/** Little-endian on every machine, because that is how clients read it. */
function encode(vector: Float32Array): string {
  const bytes = Buffer.alloc(vector.length * Float32Array.BYTES_PER_ELEMENT);
  for (const [index, value] of vector.entries()) bytes.writeFloatLE(value, index * 4);
  return bytes.toString("base64");
}
