import type { SpecialTokens } from "@hearth-and-keep/chat-templates";
import type { Metadata, ModelFile } from "@hearth-and-keep/gguf";

/** Tokens of a model file's vocabulary that matter for prompts and output. */
export type ModelFacts = {
  readonly beginningToken: number | undefined;
  /** Control tokens that the template uses: the engine omits them from its output unless they are listed. */
  readonly preservedTokens: ReadonlyMap<number, string>;
  readonly infill: InfillTokens | undefined;
};

type InfillTokens = { readonly prefix: number; readonly suffix: number; readonly middle: number };

const controlToken = 3;
const maxPreservedTokens = 512;

export function readModelFacts({ metadata }: ModelFile, templates: readonly string[]): ModelFacts {
  const control = controlTokensOf(metadata);
  const preserved = [...control]
    .filter(([, text]) => text !== "" && templates.some((template) => template.includes(text)))
    .slice(0, maxPreservedTokens);
  return {
    beginningToken: numberOf(metadata, "tokenizer.ggml.bos_token_id"),
    preservedTokens: new Map(preserved),
    infill: infillTokensOf(metadata, control),
  };
}

/** The pooling type in model files that uses the last token's vector only. */
const lastTokenPooling = 3;

/**
 * Whether a text can be embedded in several batches. A model that pools over all tokens, or whose attention is not causal,
 * needs them all at once, and the engine rejects a text that is longer than one batch.
 */
export function canSplitTexts({ metadata, architecture }: ModelFile): boolean {
  if (architecture === null || /bert|encoder/u.test(architecture)) return false;
  const isCausal = metadata.get(`${architecture}.attention.causal`)?.value !== false;
  return isCausal && numberOf(metadata, `${architecture}.pooling_type`) === lastTokenPooling;
}

function controlTokensOf(metadata: Metadata): ReadonlyMap<number, string> {
  const kinds = metadata.get("tokenizer.ggml.token_type")?.value;
  const texts = metadata.get("tokenizer.ggml.tokens")?.value;
  const found = new Map<number, string>();
  if (typeof kinds !== "object" || kinds.kind !== "numbers") return found;
  if (typeof texts !== "object" || texts.kind !== "strings") return found;
  kinds.values.forEach((kind: number | bigint, token: number) => {
    if (Number(kind) === controlToken) found.set(token, texts.at(token) ?? "");
  });
  return found;
}

/** Names of these tokens in common model families, for files that do not declare them. */
const infillNames = {
  prefix: [
    "<|fim_prefix|>",
    "<fim-prefix>",
    "<fim_prefix>",
    "<｜fim▁begin｜>",
    "<PRE>",
    "▁<PRE>",
    "<|code_prefix|>",
  ],
  suffix: [
    "<|fim_suffix|>",
    "<fim-suffix>",
    "<fim_suffix>",
    "<｜fim▁hole｜>",
    "<SUF>",
    "▁<SUF>",
    "<|code_suffix|>",
  ],
  middle: [
    "<|fim_middle|>",
    "<fim-middle>",
    "<fim_middle>",
    "<｜fim▁end｜>",
    "<MID>",
    "▁<MID>",
    "<|code_middle|>",
  ],
} as const;
const infillKeys = {
  prefix: ["fim_pre", "prefix"],
  suffix: ["fim_suf", "suffix"],
  middle: ["fim_mid", "middle"],
} as const;

function infillTokensOf(metadata: Metadata, control: ReadonlyMap<number, string>): InfillTokens | undefined {
  const find = (role: keyof typeof infillNames): number | undefined => {
    const declared = infillKeys[role]
      .map((key) => numberOf(metadata, `tokenizer.ggml.${key}_token_id`))
      .find((token) => token !== undefined);
    const names: readonly string[] = infillNames[role];
    return declared ?? [...control].find(([, text]) => names.includes(text))?.[0];
  };
  const [prefix, suffix, middle] = [find("prefix"), find("suffix"), find("middle")];
  if (prefix === undefined || suffix === undefined || middle === undefined) return undefined;
  return { prefix, suffix, middle };
}

/** The special tokens that a template may print, as reported by the engine. */
export function specialTokensOf(
  { metadata }: ModelFile,
  properties: { readonly beginning: string; readonly end: string; readonly addsBeginning: boolean },
): SpecialTokens {
  return { ...properties, addsEnd: metadata.get("tokenizer.ggml.add_eos_token")?.value === true };
}

function numberOf(metadata: Metadata, key: string): number | undefined {
  const value = metadata.get(key)?.value;
  return typeof value === "number" ? value : undefined;
}
