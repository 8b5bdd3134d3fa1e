import { randomBytes } from "node:crypto";
import { open, readFile } from "node:fs/promises";
import { join } from "node:path";
import { writeModel } from "@hearth-and-keep/gguf/testing";
import {
  cacheFolder,
  createOnce,
  endOfHeaderText,
  replaceHeaderInteger,
  testModel,
} from "@hearth-and-keep/test-servers";

/** Of the usual models with a billion parameters, with heads as wide as SmolLM2's. */
const shape = { layers: 16, width: 2048, feedForward: 8192, heads: 32, keyHeads: 8 };
const headWidth = shape.width / shape.heads;
const vocabulary = 49_152;
const alignment = 32;
const fileName = "one-billion.gguf";
/** ggml's type ids. */
const float32 = 0;
const q4_0 = 2;
const q4Bytes = { values: 32, bytes: 18 };
/** In half precision: weights of about 0.02, so that no layer overflows. */
const blockScale = 0x1c00;

/**
 * The path of a model with the vocabulary and template of SmolLM2 and a billion random weights, which is created in the
 * cache on first use (600 MB). It computes like a trained one, but its output has no meaning.
 */
export async function oneBillionModel(): Promise<string> {
  const folder = await createOnce({ path: join(cacheFolder, "one-billion-q4_0"), create: writeWeights });
  return join(folder, fileName);
}

type PlacedTensor = TensorShape & { readonly offset: number; readonly bytes: number };
type TensorShape = { readonly name: string; readonly type: number; readonly shape: readonly number[] };

async function writeWeights(folder: string): Promise<void> {
  const tensors = placeTensors();
  await using file = await open(join(folder, fileName), "w");
  await file.appendFile(await createHeader(tensors));
  const blocks = createBlocks();
  const ones = Buffer.from(new Float32Array(shape.width).fill(1).buffer);
  for (const { type, bytes } of tensors) {
    const source = type === float32 ? ones : blocks;
    // Every size is a multiple of the alignment.
    for (let written = 0; written < bytes; written += source.length) {
      await file.appendFile(source.subarray(0, bytes - written));
    }
  }
}

function placeTensors(): readonly PlacedTensor[] {
  let end = 0;
  return listTensors().map((tensor) => {
    const values = tensor.shape.reduce((product, length) => product * length, 1);
    const bytes = tensor.type === float32 ? values * 4 : (values / q4Bytes.values) * q4Bytes.bytes;
    const placed = { ...tensor, bytes, offset: end };
    end += bytes;
    return placed;
  });
}

function listTensors(): readonly TensorShape[] {
  const { width, feedForward, keyHeads, layers } = shape;
  const keyWidth = keyHeads * headWidth;
  const blocks = Array.from({ length: layers }, (_none, index) => `blk.${index}`);
  return [
    matrix("token_embd", width, vocabulary),
    ...blocks.flatMap((block) => [
      norm(`${block}.attn_norm`),
      matrix(`${block}.attn_q`, width, width),
      matrix(`${block}.attn_k`, width, keyWidth),
      matrix(`${block}.attn_v`, width, keyWidth),
      matrix(`${block}.attn_output`, width, width),
      norm(`${block}.ffn_norm`),
      matrix(`${block}.ffn_gate`, width, feedForward),
      matrix(`${block}.ffn_up`, width, feedForward),
      matrix(`${block}.ffn_down`, feedForward, width),
    ]),
    norm("output_norm"),
  ];
}

function norm(name: string): TensorShape {
  return { name: `${name}.weight`, type: float32, shape: [shape.width] };
}

function matrix(name: string, columns: number, rows: number): TensorShape {
  return { name: `${name}.weight`, type: q4_0, shape: [columns, rows] };
}

/** SmolLM2's metadata with other sizes, and the table of these tensors. */
async function createHeader(tensors: readonly PlacedTensor[]): Promise<Buffer> {
  const original = await readFile(await testModel("smollm2-135m-instruct-q4_1.gguf"));
  const { layers, width, feedForward, heads, keyHeads } = shape;
  const sizes = {
    "llama.block_count": layers,
    "llama.embedding_length": width,
    "llama.feed_forward_length": feedForward,
    "llama.attention.head_count": heads,
    "llama.attention.head_count_kv": keyHeads,
    "llama.rope.dimension_count": headWidth,
    "llama.context_length": 16_384,
    "general.file_type": q4_0,
  };
  for (const [key, value] of Object.entries(sizes)) replaceHeaderInteger(original, key, value);
  const table = writeModel({ tensors, alignment: 1 });
  const startBytes = 24;
  const firstTensor = "token_embd.weight";
  const metadataEnd = endOfHeaderText(original, firstTensor) - firstTensor.length - 8;
  const header = Buffer.concat([original.subarray(0, metadataEnd), table.subarray(startBytes)]);
  header.writeBigUInt64LE(BigInt(tensors.length), 8);
  return Buffer.concat([header, Buffer.alloc((alignment - (header.length % alignment)) % alignment)]);
}

/** Random blocks of Q4_0, which are repeated: a scale and 32 values of four bits. */
function createBlocks(): Buffer {
  const count = 64 * 1024;
  const blocks = randomBytes(count * q4Bytes.bytes);
  for (let index = 0; index < count; index += 1) blocks.writeUInt16LE(blockScale, index * q4Bytes.bytes);
  return blocks;
}
