import type { SpecialTokens } from "@hearth-and-keep/chat-templates";
import type { Metadata, ModelFile } from "@hearth-and-keep/gguf";

/** What of a model file's vocabulary matters for prompts and answers. */
export type ModelFacts = {
  readonly beginningToken: number | undefined;
  /** Texts of control tokens that the template writes: the engine leaves them out unless it is told to keep them. */
  readonly keptTokens: ReadonlyMap<number, string>;
  readonly infill: InfillTokens | undefined;
};

type InfillTokens = { readonly prefix: number; readonly suffix: number; readonly middle: number };

const controlToken = 3;
const mostKeptTokens = 512;

export function readModelFacts({ metadata }: ModelFile, templates: readonly string[]): ModelFacts {
  const control = controlTokensOf(metadata);
  const kept = [...control]
    .filter(([, text]) => text !== "" && templates.some((template) => template.includes(text)))
    .slice(0, mostKeptTokens);
  return {
    beginningToken: numberOf(metadata, "tokenizer.ggml.bos_token_id"),
    keptTokens: new Map(kept),
    infill: infillTokensOf(metadata, control),
  };
}

/** The number that model files have for the pooling that takes the last token's vector alone. */
const poolsLastToken = 3;

/**
 * Whether a text may be read in pieces to embed it. What pools over all tokens, or lets a token see those behind it,
 * needs them all at once, and the engine refuses a text that is longer than one piece.
 */
export function canSplitTexts({ metadata, architecture }: ModelFile): boolean {
  if (architecture === null || /bert|encoder/u.test(architecture)) return false;
  const isCausal = metadata.get(`${architecture}.attention.causal`)?.value !== false;
  return isCausal && numberOf(metadata, `${architecture}.pooling_type`) === poolsLastToken;
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

/** The names under which families have these tokens, for files that do not say which they are. */
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
  const find = (part: keyof typeof infillNames): number | undefined => {
    const told = infillKeys[part]
      .map((key) => numberOf(metadata, `tokenizer.ggml.${key}_token_id`))
      .find((token) => token !== undefined);
    const names: readonly string[] = infillNames[part];
    return told ?? [...control].find(([, text]) => names.includes(text))?.[0];
  };
  const [prefix, suffix, middle] = [find("prefix"), find("suffix"), find("middle")];
  if (prefix === undefined || suffix === undefined || middle === undefined) return undefined;
  return { prefix, suffix, middle };
}

/** The texts a template may print, as the engine tells them. */
export function specialTokensOf(
  { metadata }: ModelFile,
  told: { readonly beginning: string; readonly end: string; readonly addsBeginning: boolean },
): SpecialTokens {
  return { ...told, addsEnd: metadata.get("tokenizer.ggml.add_eos_token")?.value === true };
}

function numberOf(metadata: Metadata, key: string): number | undefined {
  const value = metadata.get(key)?.value;
  return typeof value === "number" ? value : undefined;
}
