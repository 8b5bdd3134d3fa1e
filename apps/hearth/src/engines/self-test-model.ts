import { open, rename, stat } from "node:fs/promises";
import { join } from "node:path";
import { type Entry, type WrittenModel, writeModel } from "@hearth-and-keep/gguf";

/** About 50 MB in the most common quantization: large enough that computation dominates the overhead per token. */
const shape = { layers: 8, width: 1024, feedForward: 2816, heads: 8 };
const contextTokens = 512;
/** ggml's type ids. */
const float32 = 0;
const q4_0 = 2;
const q4Bytes = { values: 32, bytes: 18 };
const alignment = 32;

/**
 * Creates the test model and returns its path. All weights are zero, so the file is a header and a hole and takes no
 * disk space; computing with zeros takes as long as with any other weights.
 */
export async function createSelfTestModel(folder: string): Promise<string> {
  const path = join(folder, "self-test.gguf");
  const { header, size } = createFile();
  const existing = await stat(path).catch(() => undefined);
  if (existing?.size === size) return path;
  const temporary = `${path}.${process.pid}`;
  await using file = await open(temporary, "w", 0o644);
  await file.write(header);
  await file.truncate(size);
  await rename(temporary, path);
  return path;
}

type TensorShape = { readonly name: string; readonly type: number; readonly shape: readonly number[] };

function createFile(): { readonly header: Buffer; readonly size: number } {
  let offset = 0;
  const tensors = listTensors().map((tensor) => {
    const placed = { ...tensor, offset };
    offset += Math.ceil(bytesOf(tensor) / alignment) * alignment;
    return placed;
  });
  const model: WrittenModel = { entries: describe(), tensors };
  const header = writeModel(model);
  return { header, size: header.length + offset };
}

function bytesOf({ type, shape: lengths }: TensorShape): number {
  const values = lengths.reduce((product, length) => product * length, 1);
  return type === float32 ? values * 4 : (values / q4Bytes.values) * q4Bytes.bytes;
}

function listTensors(): readonly TensorShape[] {
  const { layers, width, feedForward } = shape;
  const blocks = Array.from({ length: layers }, (_, index) => `blk.${index}`).flatMap((block) => [
    norm(`${block}.attn_norm`),
    ...["attn_q", "attn_k", "attn_v", "attn_output"].map((name) => matrix(`${block}.${name}`, width, width)),
    norm(`${block}.ffn_norm`),
    matrix(`${block}.ffn_gate`, width, feedForward),
    matrix(`${block}.ffn_up`, width, feedForward),
    matrix(`${block}.ffn_down`, feedForward, width),
  ]);
  const vocabulary = tokens.length;
  return [
    matrix("token_embd", width, vocabulary),
    ...blocks,
    norm("output_norm"),
    matrix("output", width, vocabulary),
  ];
}

function matrix(name: string, columns: number, rows: number): TensorShape {
  return { name: `${name}.weight`, type: q4_0, shape: [columns, rows] };
}

function norm(name: string): TensorShape {
  return { name: `${name}.weight`, type: float32, shape: [shape.width] };
}

/** GPT-2's byte alphabet, printable characters first: all scores are equal, so the first token always wins. */
const tokens = [...byteLetters().slice(0x21), ...byteLetters().slice(0, 0x21), "<|end|>"];
const endToken = 256;
const normalToken = 1;
const controlToken = 3;

function byteLetters(): readonly string[] {
  let shifted = 0x1_00;
  return Array.from({ length: 256 }, (_, byte) => {
    const isPrintable =
      (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || (byte >= 0xae && byte <= 0xff);
    if (isPrintable) return String.fromCodePoint(byte);
    shifted += 1;
    return String.fromCodePoint(shifted - 1);
  });
}

function describe(): readonly Entry[] {
  const { layers, width, feedForward, heads } = shape;
  const counts = {
    "llama.context_length": contextTokens,
    "llama.embedding_length": width,
    "llama.block_count": layers,
    "llama.feed_forward_length": feedForward,
    "llama.attention.head_count": heads,
    "llama.attention.head_count_kv": heads,
    "llama.rope.dimension_count": width / heads,
    "llama.vocab_size": tokens.length,
    "tokenizer.ggml.bos_token_id": endToken,
    "tokenizer.ggml.eos_token_id": endToken,
  };
  return [
    text("general.architecture", "llama"),
    text("general.name", "Self-test"),
    ...Object.entries(counts).map(([key, value]): Entry => ({ key, type: "uint32", value })),
    { key: "llama.attention.layer_norm_rms_epsilon", type: "float32", value: 1e-5 },
    text("tokenizer.ggml.model", "gpt2"),
    text("tokenizer.ggml.pre", "gpt-2"),
    { key: "tokenizer.ggml.tokens", type: "array", value: { of: "string", values: tokens } },
    {
      key: "tokenizer.ggml.token_type",
      type: "array",
      value: {
        of: "int32",
        values: tokens.map((_, index) => (index === endToken ? controlToken : normalToken)),
      },
    },
    { key: "tokenizer.ggml.merges", type: "array", value: { of: "string", values: ["! !"] } },
    { key: "tokenizer.ggml.add_bos_token", type: "bool", value: false },
  ];
}

function text(key: string, value: string): Entry {
  return { key, type: "string", value };
}
