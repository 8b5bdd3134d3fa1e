import type { Capabilities, Metadata, ModelFile, PrivateDialect } from "@hearth-and-keep/gguf";

/** What is remembered of a model file's header: small, unlike its vocabulary and its tensors. */
export type HeaderFacts = {
  readonly architecture: string;
  readonly fileType: string;
  readonly parameterCount: number;
  readonly trainedContextTokens: number | null;
  readonly embeddingLength: number | null;
  readonly chatTemplate: string | null;
  readonly hints: Capabilities;
  /** It makes vectors, and writes no text. */
  readonly isPooled: boolean;
  readonly attention: AttentionFacts;
  /** Bytes of weights, which is what a load takes before its context. */
  readonly weightBytes: number;
  /** Set on a file that no engine of ours can load. */
  readonly privateDialect: PrivateDialect | null;
};

/** What a memory budget counts: a token of context takes `keyValueHeads × (keyLength + valueLength)` in each layer. */
type AttentionFacts = {
  readonly layers: number;
  /** One number for each layer; zero for a layer without attention. */
  readonly keyValueHeads: readonly number[];
  readonly keyLength: number;
  readonly valueLength: number;
};

const mostLayers = 10_000;

export function readHeaderFacts(file: ModelFile): HeaderFacts {
  const architecture = file.architecture ?? "unknown";
  return {
    architecture,
    fileType: file.fileType,
    parameterCount: file.parameterCount,
    trainedContextTokens: file.trainedContextTokens,
    embeddingLength: wholeOf(file.metadata, `${architecture}.embedding_length`) ?? null,
    chatTemplate: file.chatTemplate,
    hints: file.capabilities,
    isPooled: file.metadata.has(`${architecture}.pooling_type`),
    attention: readAttention(file.metadata, architecture),
    weightBytes: file.tensorSummary.bytes,
    privateDialect: file.privateDialect,
  };
}

function readAttention(metadata: Metadata, architecture: string): AttentionFacts {
  const layers = Math.min(wholeOf(metadata, `${architecture}.block_count`) ?? 0, mostLayers);
  const heads = numbersOf(metadata, `${architecture}.attention.head_count`);
  const written = numbersOf(metadata, `${architecture}.attention.head_count_kv`);
  const keyValueHeads = written.length === 0 ? heads : written;
  const embeddingLength = wholeOf(metadata, `${architecture}.embedding_length`) ?? 0;
  const headLength = Math.floor(embeddingLength / Math.max(1, ...heads.slice(0, mostLayers)));
  return {
    layers,
    keyValueHeads: Array.from(
      { length: layers },
      (_, layer) => keyValueHeads[layer] ?? keyValueHeads[0] ?? 0,
    ),
    keyLength: wholeOf(metadata, `${architecture}.attention.key_length`) ?? headLength,
    valueLength: wholeOf(metadata, `${architecture}.attention.value_length`) ?? headLength,
  };
}

/** One number, or one for each layer. */
function numbersOf(metadata: Metadata, key: string): readonly number[] {
  const value = metadata.get(key)?.value;
  if (typeof value === "number" || typeof value === "bigint") return [Number(value)];
  return typeof value === "object" && value.kind === "numbers" ? Array.from(value.values, Number) : [];
}

function wholeOf(metadata: Metadata, key: string): number | undefined {
  return numbersOf(metadata, key)[0];
}
