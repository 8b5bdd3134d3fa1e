import { quote } from "../model-file-error.ts";
import type { Metadata } from "../reading/read-header.ts";
import type { MetadataList, StringList } from "../reading/value-kinds.ts";
import { checkTokens } from "./check-tokens.ts";
import { findList, findText, findWhole, refuseKey } from "./metadata-values.ts";

const tokensKey = "tokenizer.ggml.tokens";
/** Four times the largest vocabulary of today. Comparing so many takes a second and 200 MB. */
const maxTokens = 2 ** 20;
const mostMerges = 2 ** 22;
/** Native code keeps lengths of tokens in 32 bits with a sign, and on the stack; real ones have at most hundreds. */
const longestTokenBytes = 65_535;
/** How converters write that a model has no such token: -1 in 32 bits. */
const noToken = 2 ** 32 - 1;

/** Native code reads scores and types by the number of tokens, without asking how many there are. */
export function checkVocabulary(metadata: Metadata): void {
  const model = findText(metadata, "tokenizer.ggml.model");
  findText(metadata, "tokenizer.ggml.pre");
  findStrings(metadata, "tokenizer.ggml.merges", mostMerges);
  const tokens = findStrings(metadata, tokensKey, maxTokens);
  if (tokens !== undefined) checkTokens(tokens, { key: tokensKey, model });
  checkColumn(metadata, { key: "tokenizer.ggml.scores", types: ["float32"], tokens });
  checkColumn(metadata, { key: "tokenizer.ggml.token_type", types: ["int32", "uint32"], tokens });
  checkColumn(metadata, { key: "tokenizer.ggml.precompiled_charsmap", types: ["uint8", "int8"] });
  for (const key of metadata.keys()) {
    if (/^tokenizer\.ggml\.\w+_token_id$/u.test(key)) checkTokenId(metadata, key, tokens);
  }
}

function findStrings(metadata: Metadata, key: string, most: number): StringList | undefined {
  const list = findList(metadata, key);
  if (list === undefined) return undefined;
  if (list.kind !== "strings") return refuseKey(key, `The value of ${quote(key)} must be an array of texts`);
  if (list.length === 0 && key === tokensKey) return refuseKey(key, "The vocabulary has no tokens");
  if (list.length > most || list.longestBytes > longestTokenBytes) {
    const sentence = `${quote(key)} has ${list.length} texts of up to ${list.longestBytes} bytes, too many or too long`;
    return refuseKey(key, sentence, "too-large");
  }
  return list;
}

type Column = {
  readonly key: string;
  readonly types: readonly string[];
  /** When it has one value for each token. */
  readonly tokens?: StringList | undefined;
};

function checkColumn(metadata: Metadata, { key, types, tokens }: Column): void {
  const list = findList(metadata, key);
  if (list === undefined) return;
  if (list.kind !== "numbers" || !types.includes(list.type)) {
    return refuseKey(
      key,
      `${quote(key)} must have values of type ${types.join(" or ")}, not ${nameOf(list)}`,
    );
  }
  if (tokens !== undefined && list.length !== tokens.length) {
    const sentence = `${quote(key)} has ${list.length} values for ${tokens.length} tokens`;
    return refuseKey(key, sentence, "vocabulary-inconsistent");
  }
}

function nameOf(list: MetadataList): string {
  return list.kind === "numbers" ? list.type : list.kind;
}

function checkTokenId(metadata: Metadata, key: string, tokens: StringList | undefined): void {
  const id = findWhole(metadata, key, { least: -1, most: noToken });
  if (id === undefined || id === noToken || id < 0 || tokens === undefined || id < tokens.length) return;
  const sentence = `${quote(key)} names the token ${id}, and the vocabulary has ${tokens.length}`;
  refuseKey(key, sentence, "vocabulary-inconsistent");
}
