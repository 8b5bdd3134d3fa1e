import type { Metadata } from "../reading/read-header.ts";
import type { Tensor } from "../reading/read-tensors.ts";

/**
 * A file that only the program which converted it can load. Ollama wrote some families for an engine of its own,
 * with names and layouts that llama.cpp does not know.
 */
export type PrivateDialect = {
  readonly family: PrivateFamily;
  /** The architecture that llama.cpp loads this family as. */
  readonly upstream: string;
  /** What llama.cpp would miss or not know, for a person. */
  readonly difference: string;
};

export type PrivateFamily = keyof typeof rules;

/** Undefined for whatever llama.cpp loads: each sign stands for a refusal of its loader, never for a habit. */
export function findPrivateDialect(
  architecture: string | null,
  metadata: Metadata,
  tensors: readonly Tensor[],
): PrivateDialect | undefined {
  if (architecture === null || !architectures.has(architecture)) return undefined;
  const header: Header = {
    architecture,
    metadata,
    names: new Map(tensors.map((tensor) => [tensor.name, tensor])),
  };
  for (const [name, { of, upstream = architecture, signs }] of Object.entries<Rule>(rules)) {
    const difference = of.includes(architecture) ? firstSign(signs, header) : undefined;
    // The names of the families are the table's own.
    const family = name as PrivateFamily;
    if (difference !== undefined) return { family, upstream, difference };
  }
  return undefined;
}

function firstSign(signs: readonly Sign[], header: Header): string | undefined {
  for (const sign of signs) {
    const difference = sign(header);
    if (difference !== undefined) return difference;
  }
  return undefined;
}

type Header = {
  readonly architecture: string;
  readonly metadata: Metadata;
  readonly names: ReadonlyMap<string, Tensor>;
};

/** What is private about a header, if it is. */
type Sign = (header: Header) => string | undefined;

type Rule = {
  readonly of: readonly string[];
  /** Absent when it has the same name there. */
  readonly upstream?: string;
  readonly signs: readonly Sign[];
};

const otherName: Sign = ({ architecture }) => `llama.cpp does not know the architecture "${architecture}"`;

/** llama.cpp counts the tensors of a file and loads none that it has no use for. */
const embedded: Sign = ({ names }) => {
  const foreign = [...names.keys()].find((name) => /^(?:v|mm|a|s|mtp|model\.vision_tower)\./u.test(name));
  return foreign === undefined ? undefined : `the tensor "${foreign}" belongs into a file of its own`;
};

const oneVocabulary: Sign = ({ names }) => {
  const [tokens, layers] = ["token_embd.weight", "per_layer_token_embd.weight"].map((name) =>
    names.get(name),
  );
  const isOne = tokens === undefined || layers === undefined || tokens.shape[1] === layers.shape[1];
  return isOne ? undefined : "its two vocabularies have different sizes";
};

/** Its converter left the key out and wrote others that llama.cpp does not read. */
const noEpsilon: Sign = ({ metadata }) => {
  if (metadata.has("gemma3.attention.layer_norm_rms_epsilon")) return undefined;
  const own = ["gemma3.rope.global.freq_base", "gemma3.rope.local.freq_base", "gemma3.mm.tokens_per_image"];
  const hasOwn = own.some((key) => metadata.has(key));
  return hasOwn ? 'the key "gemma3.attention.layer_norm_rms_epsilon" is missing' : undefined;
};

const shortSections: Sign = ({ architecture, metadata }) => {
  const sections = metadata.get(`${architecture}.rope.dimension_sections`)?.value;
  const isShort = typeof sections === "object" && sections.length < 4;
  return isShort ? `the key "${architecture}.rope.dimension_sections" has less than four numbers` : undefined;
};

const noSections: Sign = ({ architecture, metadata }) => {
  const key = `${architecture}.rope.dimension_sections`;
  return metadata.has(key) ? undefined : `the key "${key}" is missing`;
};

function tensorNamed(pattern: RegExp, unless?: string): Sign {
  return ({ names }) => {
    if (unless !== undefined && names.has(unless)) return undefined;
    const found = [...names.keys()].find((name) => pattern.test(name));
    return found === undefined ? undefined : `the tensor "${found}" has another name in llama.cpp`;
  };
}

const ownBias = tensorNamed(/\.ssm_dt$/u);

/** In the order in which they are looked for. */
const rules = {
  embeddinggemma: {
    of: ["gemma3"],
    upstream: "gemma-embedding",
    signs: [tensorNamed(/^dense\.0\.weight$/u)],
  },
  gemma3: { of: ["gemma3"], signs: [embedded, noEpsilon] },
  gemma3n: { of: ["gemma3n"], signs: [oneVocabulary, embedded] },
  gemma4: { of: ["gemma4"], signs: [embedded] },
  "gpt-oss": { of: ["gptoss"], upstream: "gpt-oss", signs: [otherName] },
  lfm2: { of: ["lfm2"], signs: [tensorNamed(/^output_norm\.weight$/u, "token_embd_norm.weight")] },
  llama4: { of: ["llama4"], signs: [embedded] },
  mistral3: { of: ["mistral3"], signs: [embedded] },
  "qwen3.5": { of: ["qwen35"], signs: [embedded, shortSections, ownBias] },
  "qwen3.5 with experts": { of: ["qwen35moe"], signs: [embedded, shortSections, ownBias] },
  "qwen3-next": { of: ["qwen3next"], signs: [ownBias] },
  "qwen2.5-vl": { of: ["qwen25vl"], upstream: "qwen2vl", signs: [otherName] },
  "qwen3-vl": { of: ["qwen3vl"], signs: [embedded, noSections] },
  "qwen3-vl with experts": { of: ["qwen3vlmoe"], signs: [embedded, noSections] },
  olmo3: { of: ["olmo3"], upstream: "olmo2", signs: [otherName] },
  "deepseek-ocr": { of: ["deepseekocr"], upstream: "deepseek2-ocr", signs: [otherName] },
  "glm-ocr": { of: ["glmocr"], upstream: "glm4", signs: [otherName] },
  "glm-4 flash": { of: ["glm4moelite"], upstream: "deepseek2", signs: [otherName] },
  laguna: { of: ["laguna"], signs: [tensorNamed(/\.attn_g\.weight$/u)] },
  nemotron: { of: ["nemotron_h_moe"], signs: [tensorNamed(/\.ffn_latent_(?:in|out)\b/u), embedded] },
  "nemotron omni": { of: ["nemotron_h_omni"], upstream: "nemotron_h_moe", signs: [otherName] },
} as const satisfies Readonly<Record<string, Rule>>;

const architectures: ReadonlySet<string> = new Set(Object.values<Rule>(rules).flatMap(({ of }) => of));
