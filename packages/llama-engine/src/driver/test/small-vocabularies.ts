import { type Entry, type EntryValue, type SeedFile, writeModel } from "@hearth-and-keep/gguf/testing";

type Vocabulary = {
  readonly model: string;
  readonly tokens: readonly string[];
  readonly types?: readonly number[];
  readonly more?: readonly Entry[];
};

const normal = 1;
const control = 3;
const byte = 6;
const normalTokens = ["\u2581some", "\u2581test", "\u2581text", "\u2581here", "\u2581", "s", "t", "e"];
const bytes = Array.from({ length: 256 }, (_, value) => `<0x${hex(value)}>`);

/** A small valid file for every vocabulary type of llama.cpp; without tensors, which are not opened. */
export function createSmallVocabularies(): readonly SeedFile[] {
  return [sentencePieces(), bytePairs(), wordPieces(), unigrams(), escapedTokens(), longestTokens()].map(
    (vocabulary) => ({ name: `vocabulary ${vocabulary.model}`, bytes: writeVocabulary(vocabulary) }),
  );
}

export function writeVocabulary({ model, tokens, types, more = [] }: Vocabulary): Uint8Array {
  const scores = tokens.map((_, index) => -index);
  const each = types ?? tokens.map(() => normal);
  return writeModel({
    entries: [
      { key: "general.architecture", type: "string", value: "llama" },
      ...Object.entries(dimensions).map(([name, value]) => integer(`llama.${name}`, value)),
      { key: "tokenizer.ggml.model", type: "string", value: model },
      list("tokenizer.ggml.tokens", "string", tokens),
      list("tokenizer.ggml.scores", "float32", scores),
      list("tokenizer.ggml.token_type", "int32", each),
      integer("tokenizer.ggml.bos_token_id", 1),
      integer("tokenizer.ggml.eos_token_id", 2),
      { key: "tokenizer.ggml.add_bos_token", type: "bool", value: true },
      { key: "tokenizer.chat_template", type: "string", value: "{{ messages[0].content }}" },
      ...more,
    ],
  });
}

const dimensions = {
  context_length: 128,
  embedding_length: 64,
  block_count: 1,
  feed_forward_length: 128,
  "attention.head_count": 4,
  "attention.head_count_kv": 2,
};

function sentencePieces(): Vocabulary {
  const types = [2, control, control, ...bytes.map(() => byte), ...normalTokens.map(() => normal)];
  return { model: "llama", tokens: ["<unk>", "<s>", "</s>", ...bytes, ...normalTokens], types };
}

/** Bytes are written as characters, from U+0100 if the byte has no printable one. */
function bytePairs(): Vocabulary {
  const letters = Array.from({ length: 256 }, (_, value) => String.fromCodePoint(256 + value));
  const printable = Array.from({ length: 94 }, (_, value) => String.fromCodePoint(33 + value));
  const merged = ["te", "st", "test"];
  const tokens = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", ...printable, ...letters, ...merged];
  const merges = list("tokenizer.ggml.merges", "string", ["t e", "s t", "te st"]);
  return {
    model: "gpt2",
    tokens,
    types: tokens.map((_, index) => (index < 3 ? control : normal)),
    more: [merges, { key: "tokenizer.ggml.pre", type: "string", value: "default" }],
  };
}

function wordPieces(): Vocabulary {
  const unused = Array.from({ length: 97 }, (_, index) => `[unused${index}]`);
  const special = ["[PAD]", "[CLS]", "[SEP]", ...unused, "[UNK]", "[MASK]"];
  return {
    model: "bert",
    tokens: [...special, ...normalTokens],
    more: [integer("tokenizer.ggml.unknown_token_id", 100), integer("tokenizer.ggml.seperator_token_id", 2)],
  };
}

/** With a table of normalized characters: its length, 256 empty entries of four bytes, one replacement. */
function unigrams(): Vocabulary {
  const table = [0, 4, 0, 0, ...Array.from({ length: 1024 }, () => 0), 0x61, 0];
  const types = [control, control, 2, ...normalTokens.map(() => normal)];
  return {
    model: "t5",
    tokens: ["<pad>", "</s>", "<unk>", ...normalTokens],
    types,
    more: [
      list("tokenizer.ggml.precompiled_charsmap", "uint8", table),
      integer("tokenizer.ggml.unknown_token_id", 2),
    ],
  };
}

function escapedTokens(): Vocabulary {
  const single = Array.from({ length: 256 }, (_, value) => `\\x${hex(value).toLowerCase()}`);
  return {
    model: "rwkv",
    tokens: ["<s>", ...single.slice(0, 10), "\\n", ...single.slice(11), "some", " test"],
  };
}

function longestTokens(): Vocabulary {
  const special = ["<|plamo:unk|>", "<|plamo:bos|>", "<|plamo:eos|>", "<|plamo:pad|>"];
  const types = [...special.map(() => control), ...bytes.map(() => byte), ...normalTokens.map(() => normal)];
  return { model: "plamo2", tokens: [...special, ...bytes, ...normalTokens], types };
}

function hex(value: number): string {
  return value.toString(16).toUpperCase().padStart(2, "0");
}

function list(
  key: string,
  of: "string" | "float32" | "int32" | "uint8",
  values: readonly EntryValue[],
): Entry {
  return { key, type: "array", value: { of, values } };
}

function integer(key: string, value: number): Entry {
  return { key, type: "uint32", value };
}
