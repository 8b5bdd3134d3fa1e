import { quote } from "../model-file-error.ts";
import type { Metadata } from "../reading/read-header.ts";
import type { MetadataList, StringList } from "../reading/value-kinds.ts";
import { checkTokens } from "./check-tokens.ts";
import { findInteger, findList, findString, rejectKey } from "./metadata-values.ts";

const tokensKey = "tokenizer.ggml.tokens";
/** Four times the largest current vocabulary. Comparing this many takes a second and 200 MB. */
const maxTokens = 2 ** 20;
const maxMerges = 2 ** 22;
/**
 * Native code stores token lengths as signed 32-bit integers and token text on the stack; real tokens have at most a
 * few hundred bytes.
 */
const maxTokenBytes = 65_535;
/** Converters write -1 as an unsigned 32-bit integer if a model does not have the token. */
const noToken = 2 ** 32 - 1;

/** Native code reads one score and one type per token without checking the length of those arrays. */
export function checkVocabulary(metadata: Metadata): void {
  const model = findString(metadata, "tokenizer.ggml.model");
  findString(metadata, "tokenizer.ggml.pre");
  findStrings(metadata, "tokenizer.ggml.merges", maxMerges);
  const tokens = findStrings(metadata, tokensKey, maxTokens);
  if (tokens !== undefined) checkTokens(tokens, { key: tokensKey, model });
  checkColumn(metadata, { key: "tokenizer.ggml.scores", types: ["float32"], tokens });
  checkColumn(metadata, { key: "tokenizer.ggml.token_type", types: ["int32", "uint32"], tokens });
  checkColumn(metadata, { key: "tokenizer.ggml.precompiled_charsmap", types: ["uint8", "int8"] });
  for (const key of metadata.keys()) {
    if (/^tokenizer\.ggml\.\w+_token_id$/u.test(key)) checkTokenId(metadata, key, tokens);
  }
}

function findStrings(metadata: Metadata, key: string, maxLength: number): StringList | undefined {
  const list = findList(metadata, key);
  if (list === undefined) return undefined;
  if (list.kind !== "strings")
    return rejectKey(key, `The value of ${quote(key)} must be an array of strings`);
  if (list.length === 0 && key === tokensKey) return rejectKey(key, "The vocabulary has no tokens");
  if (list.length > maxLength || list.maxStringBytes > maxTokenBytes) {
    const message = `${quote(key)} has ${list.length} strings of up to ${list.maxStringBytes} bytes, which is too many or too long`;
    return rejectKey(key, message, "too-large");
  }
  return list;
}

type Column = {
  readonly key: string;
  readonly types: readonly string[];
  /** Set if the column has one value per token. */
  readonly tokens?: StringList | undefined;
};

function checkColumn(metadata: Metadata, { key, types, tokens }: Column): void {
  const list = findList(metadata, key);
  if (list === undefined) return;
  if (list.kind !== "numbers" || !types.includes(list.type)) {
    return rejectKey(
      key,
      `${quote(key)} must have values of type ${types.join(" or ")}, not ${describeType(list)}`,
    );
  }
  if (tokens !== undefined && list.length !== tokens.length) {
    const message = `${quote(key)} has ${list.length} values for ${tokens.length} tokens`;
    return rejectKey(key, message, "vocabulary-inconsistent");
  }
}

function describeType(list: MetadataList): string {
  return list.kind === "numbers" ? list.type : list.kind;
}

function checkTokenId(metadata: Metadata, key: string, tokens: StringList | undefined): void {
  const id = findInteger(metadata, key, { min: -1, max: noToken });
  if (id === undefined || id === noToken || id < 0 || tokens === undefined || id < tokens.length) return;
  const message = `${quote(key)} refers to token ${id}, but the vocabulary has only ${tokens.length}`;
  rejectKey(key, message, "vocabulary-inconsistent");
}
