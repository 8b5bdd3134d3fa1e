import { isJsonObject } from "@hearth-and-keep/engine";

/** What a request reserves before its tokens are counted. */
export type TokenEstimate = {
  readonly promptTokens: number;
  /** What the request allows, up to a slice; the rest is reserved while it is generated. */
  readonly outputTokens: number;
};

/** Output tokens that are reserved at a time: a request that stops early holds little that it does not use. */
export const outputSlice = 1024;

const bytesPerToken = 4;
const tokensPerImage = 256;
/** For the roles of a conversation and the template of the model. */
const tokensPerRequest = 16;
/** Fields of images, sounds and files, whose length says nothing about their tokens. */
const mediaFields = new Set(["data", "images", "url", "image_url", "file_data", "file", "input_audio"]);
const limitFields = ["max_tokens", "max_completion_tokens", "max_output_tokens", "num_predict"] as const;

/** Of a body of any API. An estimate that is too low is corrected as soon as the tokens are counted. */
export function estimateRequest(body: unknown): TokenEstimate {
  const fields = isJsonObject(body) ? body : {};
  const limit = readLimit(fields) ?? readLimit(fields["options"]) ?? outputSlice;
  const choices = typeof fields["n"] === "number" ? Math.max(1, fields["n"]) : 1;
  return {
    promptTokens: tokensPerRequest + countTokens(fields, ""),
    outputTokens: Math.min(outputSlice, limit * choices),
  };
}

function readLimit(fields: unknown): number | undefined {
  if (!isJsonObject(fields)) return undefined;
  const limits = limitFields.map((name) => fields[name]).filter((value) => typeof value === "number");
  const [first] = limits.filter((value) => value >= 0);
  return first;
}

/** The depth of a body is bounded when it is parsed. */
function countTokens(value: unknown, field: string): number {
  if (typeof value === "string") {
    return mediaFields.has(field) ? tokensPerImage : Math.ceil(Buffer.byteLength(value) / bytesPerToken);
  }
  if (Array.isArray(value)) return value.reduce((sum: number, each) => sum + countTokens(each, field), 0);
  if (!isJsonObject(value)) return value === null || value === undefined ? 0 : 1;
  return Object.entries(value).reduce((sum, [name, each]) => sum + countTokens(each, name), 0);
}
