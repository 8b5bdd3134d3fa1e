import type { Metadata } from "../reading/read-header.ts";
import type { Tensor } from "../reading/read-tensors.ts";

/**
 * A file that only the program that converted it can load. Ollama converts some model families for its own engine,
 * with names and layouts that llama.cpp does not support.
 */
export type PrivateDialect = {
  readonly family: PrivateFamily;
  /** The architecture that llama.cpp loads this family as. */
  readonly upstream: string;
  /** What is incompatible with llama.cpp, as text for the user. */
  readonly difference: string;
};

export type PrivateFamily = keyof typeof rules;

/**
 * Undefined for files that llama.cpp loads. Every check corresponds to an error in llama.cpp's loader, not to a
 * convention.
 */
export function findPrivateDialect(
  architecture: string | null,
  metadata: Metadata,
  tensors: readonly Tensor[],
): PrivateDialect | undefined {
  if (architecture === null || !knownArchitectures.has(architecture)) return undefined;
  const header: Header = {
    architecture,
    metadata,
    names: new Map(tensors.map((tensor) => [tensor.name, tensor])),
  };
  for (const [name, { architectures, upstream = architecture, checks }] of Object.entries<Rule>(rules)) {
    const difference = architectures.includes(architecture) ? findDifference(checks, header) : undefined;
    // The keys of `rules` are the families.
    const family = name as PrivateFamily;
    if (difference !== undefined) return { family, upstream, difference };
  }
  return undefined;
}

function findDifference(checks: readonly IncompatibilityCheck[], header: Header): string | undefined {
  for (const check of checks) {
    const difference = check(header);
    if (difference !== undefined) return difference;
  }
  return undefined;
}

type Header = {
  readonly architecture: string;
  readonly metadata: Metadata;
  readonly names: ReadonlyMap<string, Tensor>;
};

/** Describes what is incompatible in a header; undefined if nothing is. */
type IncompatibilityCheck = (header: Header) => string | undefined;

type Rule = {
  /** The architectures the rule applies to. */
  readonly architectures: readonly string[];
  /** Absent if llama.cpp uses the same name. */
  readonly upstream?: string;
  readonly checks: readonly IncompatibilityCheck[];
};

const unknownArchitecture: IncompatibilityCheck = ({ architecture }) =>
  `llama.cpp does not support the architecture "${architecture}"`;

/** llama.cpp refuses to load a file that contains tensors it does not use. */
const embeddedTensors: IncompatibilityCheck = ({ names }) => {
  const foreign = [...names.keys()].find((name) => /^(?:v|mm|a|s|mtp|model\.vision_tower)\./u.test(name));
  return foreign === undefined ? undefined : `the tensor "${foreign}" belongs in a separate file`;
};

const mismatchedVocabularies: IncompatibilityCheck = ({ names }) => {
  const [tokens, layers] = ["token_embd.weight", "per_layer_token_embd.weight"].map((name) =>
    names.get(name),
  );
  const isSame = tokens === undefined || layers === undefined || tokens.shape[1] === layers.shape[1];
  return isSame ? undefined : "its two vocabularies have different sizes";
};

/** Ollama's converter omits this key and writes others that llama.cpp does not read. */
const missingEpsilon: IncompatibilityCheck = ({ metadata }) => {
  if (metadata.has("gemma3.attention.layer_norm_rms_epsilon")) return undefined;
  const privateKeys = [
    "gemma3.rope.global.freq_base",
    "gemma3.rope.local.freq_base",
    "gemma3.mm.tokens_per_image",
  ];
  const hasPrivateKey = privateKeys.some((key) => metadata.has(key));
  return hasPrivateKey ? 'the key "gemma3.attention.layer_norm_rms_epsilon" is missing' : undefined;
};

const shortSections: IncompatibilityCheck = ({ architecture, metadata }) => {
  const sections = metadata.get(`${architecture}.rope.dimension_sections`)?.value;
  const isShort = typeof sections === "object" && sections.length < 4;
  return isShort
    ? `the key "${architecture}.rope.dimension_sections" has fewer than four numbers`
    : undefined;
};

const missingSections: IncompatibilityCheck = ({ architecture, metadata }) => {
  const key = `${architecture}.rope.dimension_sections`;
  return metadata.has(key) ? undefined : `the key "${key}" is missing`;
};

function tensorWithPrivateName(pattern: RegExp, unless?: string): IncompatibilityCheck {
  return ({ names }) => {
    if (unless !== undefined && names.has(unless)) return undefined;
    const found = [...names.keys()].find((name) => pattern.test(name));
    return found === undefined ? undefined : `the tensor "${found}" has a different name in llama.cpp`;
  };
}

const privateBiasName = tensorWithPrivateName(/\.ssm_dt$/u);

/** Checked in this order. */
const rules = {
  embeddinggemma: {
    architectures: ["gemma3"],
    upstream: "gemma-embedding",
    checks: [tensorWithPrivateName(/^dense\.0\.weight$/u)],
  },
  gemma3: { architectures: ["gemma3"], checks: [embeddedTensors, missingEpsilon] },
  gemma3n: { architectures: ["gemma3n"], checks: [mismatchedVocabularies, embeddedTensors] },
  gemma4: { architectures: ["gemma4"], checks: [embeddedTensors] },
  "gpt-oss": { architectures: ["gptoss"], upstream: "gpt-oss", checks: [unknownArchitecture] },
  lfm2: {
    architectures: ["lfm2"],
    checks: [tensorWithPrivateName(/^output_norm\.weight$/u, "token_embd_norm.weight")],
  },
  llama4: { architectures: ["llama4"], checks: [embeddedTensors] },
  mistral3: { architectures: ["mistral3"], checks: [embeddedTensors] },
  "qwen3.5": { architectures: ["qwen35"], checks: [embeddedTensors, shortSections, privateBiasName] },
  "qwen3.5 with experts": {
    architectures: ["qwen35moe"],
    checks: [embeddedTensors, shortSections, privateBiasName],
  },
  "qwen3-next": { architectures: ["qwen3next"], checks: [privateBiasName] },
  "qwen2.5-vl": { architectures: ["qwen25vl"], upstream: "qwen2vl", checks: [unknownArchitecture] },
  "qwen3-vl": { architectures: ["qwen3vl"], checks: [embeddedTensors, missingSections] },
  "qwen3-vl with experts": { architectures: ["qwen3vlmoe"], checks: [embeddedTensors, missingSections] },
  olmo3: { architectures: ["olmo3"], upstream: "olmo2", checks: [unknownArchitecture] },
  "deepseek-ocr": {
    architectures: ["deepseekocr"],
    upstream: "deepseek2-ocr",
    checks: [unknownArchitecture],
  },
  "glm-ocr": { architectures: ["glmocr"], upstream: "glm4", checks: [unknownArchitecture] },
  "glm-4 flash": { architectures: ["glm4moelite"], upstream: "deepseek2", checks: [unknownArchitecture] },
  laguna: { architectures: ["laguna"], checks: [tensorWithPrivateName(/\.attn_g\.weight$/u)] },
  nemotron: {
    architectures: ["nemotron_h_moe"],
    checks: [tensorWithPrivateName(/\.ffn_latent_(?:in|out)\b/u), embeddedTensors],
  },
  "nemotron omni": {
    architectures: ["nemotron_h_omni"],
    upstream: "nemotron_h_moe",
    checks: [unknownArchitecture],
  },
} as const satisfies Readonly<Record<string, Rule>>;

const knownArchitectures: ReadonlySet<string> = new Set(
  Object.values<Rule>(rules).flatMap(({ architectures }) => architectures),
);
