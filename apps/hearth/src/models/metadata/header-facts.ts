import type { Capabilities, Metadata, ModelFile, PrivateDialect } from "@hearth-and-keep/gguf";

/** The part of a model file's header that is cached: small, without the vocabulary and the tensors. */
export type HeaderFacts = {
  readonly architecture: string;
  readonly fileType: string;
  readonly parameterCount: number;
  readonly trainedContextTokens: number | null;
  readonly embeddingLength: number | null;
  readonly chatTemplate: string | null;
  readonly capabilities: Capabilities;
  /** The model computes embeddings or scores and generates no text. */
  readonly isPooled: boolean;
  readonly attention: AttentionFacts;
  readonly vocabularySize: number;
  /** Size of the weights: the memory that a load needs before its context. */
  readonly weightBytes: number;
  /** Set on a file that none of our engines can load. */
  readonly privateDialect: PrivateDialect | null;
};

/** For memory estimates: one token of context takes `keyValueHeads × (keyLength + valueLength)` values per layer. */
type AttentionFacts = {
  readonly layers: number;
  /** One number per layer; 0 for a layer without attention. */
  readonly keyValueHeads: readonly number[];
  readonly keyLength: number;
  readonly valueLength: number;
};

const maxLayers = 10_000;

export function readHeaderFacts(file: ModelFile): HeaderFacts {
  const architecture = file.architecture ?? "unknown";
  return {
    architecture,
    fileType: file.fileType,
    parameterCount: file.parameterCount,
    trainedContextTokens: file.trainedContextTokens,
    embeddingLength: readNumber(file.metadata, `${architecture}.embedding_length`) ?? null,
    chatTemplate: file.chatTemplate,
    capabilities: file.capabilities,
    isPooled: file.metadata.has(`${architecture}.pooling_type`),
    attention: readAttention(file.metadata, architecture),
    vocabularySize: readVocabularySize(file.metadata),
    weightBytes: file.tensorSummary.bytes,
    privateDialect: file.privateDialect,
  };
}

function readVocabularySize(metadata: Metadata): number {
  const tokens = metadata.get("tokenizer.ggml.tokens")?.value;
  return typeof tokens === "object" && tokens.kind === "strings" ? tokens.length : 0;
}

function readAttention(metadata: Metadata, architecture: string): AttentionFacts {
  const layers = Math.min(readNumber(metadata, `${architecture}.block_count`) ?? 0, maxLayers);
  const heads = readNumbers(metadata, `${architecture}.attention.head_count`);
  const headsKv = readNumbers(metadata, `${architecture}.attention.head_count_kv`);
  const keyValueHeads = headsKv.length === 0 ? heads : headsKv;
  const embeddingLength = readNumber(metadata, `${architecture}.embedding_length`) ?? 0;
  const headLength = Math.floor(embeddingLength / Math.max(1, ...heads.slice(0, maxLayers)));
  return {
    layers,
    keyValueHeads: Array.from(
      { length: layers },
      (_, layer) => keyValueHeads[layer] ?? keyValueHeads[0] ?? 0,
    ),
    keyLength: readNumber(metadata, `${architecture}.attention.key_length`) ?? headLength,
    valueLength: readNumber(metadata, `${architecture}.attention.value_length`) ?? headLength,
  };
}

/** One number, or one per layer. */
function readNumbers(metadata: Metadata, key: string): readonly number[] {
  const value = metadata.get(key)?.value;
  if (typeof value === "number" || typeof value === "bigint") return [Number(value)];
  return typeof value === "object" && value.kind === "numbers" ? Array.from(value.values, Number) : [];
}

function readNumber(metadata: Metadata, key: string): number | undefined {
  return readNumbers(metadata, key)[0];
}
