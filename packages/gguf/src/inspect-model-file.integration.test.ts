import { execFile } from "node:child_process";
import { open, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { hasLooseTimingBounds } from "@hearth-and-keep/figures";
import { makeTemporaryFolder, type TemporaryFolder, testModel } from "@hearth-and-keep/test-servers";
import { beforeAll, describe, expect, test } from "vitest";
import { inspectModelFile, type MetadataList } from "./index.ts";
import { type Entry, writeModel } from "./testing.ts";

const architecture: Entry = { key: "general.architecture", type: "string", value: "llama" };

beforeAll(async () => {
  await testModel("tiny-llama.gguf");
}, 900_000);

describe("real models", () => {
  test("SmolLM2 is described correctly", async () => {
    const model = await inspectModelFile(await testModel("smollm2-135m-instruct-q4_1.gguf"));
    expect(model).toMatchObject({
      architecture: "llama",
      name: "Smollm2 135M 8k Lc100K Mix1 Ep2",
      fileType: "Q4_1",
      parameterCount: 134_515_008,
      trainedContextTokens: 8192,
      formatVersion: 3,
      split: null,
      capabilities: { embedding: false, vision: false, fillInTheMiddle: false },
    });
    expect(model.chatTemplate).toContain("<|im_start|>");
    expect(model.tensorSummary.count).toBe(272);
    expect([...model.tensorSummary.byType.keys()].toSorted()).toEqual(["F32", "Q4_1", "Q8_0"]);
    const tokens = stringsOf(model.metadata.get("tokenizer.ggml.tokens")?.value);
    expect([tokens.length, tokens.at(1), tokens.at(49_152)]).toEqual([49_152, "<|im_start|>", undefined]);
  });

  test("MiniLM is an embedding model, the projectors support vision and audio, the tiny llama supports tools and thinking", async () => {
    const minilm = await inspectModelFile(await testModel("all-minilm-l6-v2-f32.gguf"));
    expect(minilm).toMatchObject({
      architecture: "bert",
      fileType: "F32",
      capabilities: { embedding: true },
    });
    const projector = await inspectModelFile(await testModel("tiny-projector.gguf"));
    expect(projector).toMatchObject({ architecture: "clip", capabilities: { vision: true, audio: false } });
    const listener = await inspectModelFile(await testModel("tiny-audio-projector.gguf"));
    expect(listener).toMatchObject({ architecture: "clip", capabilities: { vision: false, audio: true } });
    const tiny = await inspectModelFile(await testModel("tiny-llama.gguf"));
    expect(tiny.capabilities).toMatchObject({ tools: true, thinking: true, embedding: false });
  });

  test("the header of a real model is read in well under 100 ms", async () => {
    for (const name of ["smollm2-135m-instruct-q4_1.gguf", "all-minilm-l6-v2-f32.gguf"] as const) {
      const path = await testModel(name);
      const took = await fastestOfThree(() => inspectModelFile(path));
      process.stdout.write(`${name}: header read in ${took.toFixed(1)} ms\n`);
      expect(took).toBeLessThan(hasLooseTimingBounds ? 1000 : 100);
    }
  });

  test("fill-in-the-middle tokens in the vocabulary imply the fill-in-the-middle capability", async () => {
    await using folder = await makeTemporaryFolder("gguf");
    const tokens: Entry = {
      key: "tokenizer.ggml.tokens",
      type: "array",
      value: { of: "string", values: ["a", "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"] },
    };
    const path = await save(folder, "middle.gguf", writeModel({ entries: [architecture, tokens] }));
    expect((await inspectModelFile(path)).capabilities.fillInTheMiddle).toBe(true);
  });
});

describe("files that cannot be read", () => {
  test("a missing file, a folder and a pipe are rejected immediately", async () => {
    await using folder = await makeTemporaryFolder("gguf");
    const pipe = join(folder.path, "pipe.gguf");
    await promisify(execFile)("mkfifo", [pipe]);
    for (const path of [join(folder.path, "missing.gguf"), folder.path, pipe]) {
      await expect(inspectModelFile(path)).rejects.toThrow(errorOfKind("unreadable"));
    }
  });

  test("a header that declares more than 128 MiB is rejected before it is read", async () => {
    await using folder = await makeTemporaryFolder("gguf");
    const path = await saveEmptyStrings(folder, 2 ** 30);
    const detail = expect.objectContaining({ kind: "too-large", location: { key: "k", offset: 49 } });
    await expect(inspectModelFile(path)).rejects.toThrow(expect.objectContaining({ detail }));
  });

  test("the largest possible header is checked within ten seconds", async () => {
    await using folder = await makeTemporaryFolder("gguf");
    const path = await saveEmptyStrings(folder, 2 ** 24 - 100);
    const start = performance.now();
    await expect(inspectModelFile(path)).rejects.toThrow(errorOfKind("key-missing"));
    const took = performance.now() - start;
    process.stdout.write(`Checked a header of 128 MiB in ${took.toFixed(0)} ms\n`);
    expect(took).toBeLessThan(hasLooseTimingBounds ? 30_000 : 10_000);
  });
});

describe("split models", () => {
  test("a model in three files is described as one model by its first file", async () => {
    await using folder = await makeTemporaryFolder("gguf");
    const paths = await saveParts(folder, 3);
    const model = await inspectModelFile(paths[0] ?? "");
    expect(model.split).toEqual({ part: 1, partCount: 3, paths });
    expect(model.tensors.map(({ name }) => name)).toEqual(["part.0", "part.1", "part.2"]);
    expect(model.parameterCount).toBe(24);
  });

  test("the second part of a model cannot be opened on its own", async () => {
    await using folder = await makeTemporaryFolder("gguf");
    const paths = await saveParts(folder, 2);
    await expect(inspectModelFile(paths[1] ?? "")).rejects.toThrow("open the first part instead");
  });

  test("a missing, broken, renamed or repeated part is rejected", async () => {
    await using folder = await makeTemporaryFolder("gguf");
    const paths = await saveParts(folder, 2);
    const [first = "", second = ""] = paths;
    await expect(inspectModelFile(first)).resolves.toMatchObject({ split: { partCount: 2 } });
    await writeFile(second, writePart(1, 2, "part.0"));
    await expect(inspectModelFile(first)).rejects.toThrow("contain the same tensor");
    await writeFile(second, writePart(0, 2, "part.1"));
    await expect(inspectModelFile(first)).rejects.toThrow(errorOfKind("split-inconsistent"));
    await writeFile(second, writePart(1, 2, "part.1").subarray(0, 100));
    await expect(inspectModelFile(first)).rejects.toThrow(errorOfKind("cut-short"));
    await rename(second, join(folder.path, "elsewhere.gguf"));
    await expect(inspectModelFile(first)).rejects.toThrow(errorOfKind("unreadable"));
    await rename(first, join(folder.path, "model.gguf"));
    await expect(inspectModelFile(join(folder.path, "model.gguf"))).rejects.toThrow(
      'its name must end in "-00001-of-00002.gguf"',
    );
  });
});

/** A sparse file with one key that holds empty strings. */
async function saveEmptyStrings(folder: TemporaryFolder, count: number): Promise<string> {
  const emptyList: Entry = { key: "k", type: "array", value: { of: "string", values: [] } };
  const header = writeModel({ alignment: 1, entries: [emptyList] });
  header.writeBigUInt64LE(BigInt(count), header.length - 8);
  const path = await save(folder, "long.gguf", header);
  await using file = await open(path, "r+");
  await file.truncate(header.length + count * 8);
  return path;
}

async function saveParts(folder: TemporaryFolder, partCount: number): Promise<readonly string[]> {
  return Promise.all(
    Array.from({ length: partCount }, (_, index) =>
      save(
        folder,
        `tiny-0000${index + 1}-of-0000${partCount}.gguf`,
        writePart(index, partCount, `part.${index}`),
      ),
    ),
  );
}

function writePart(index: number, partCount: number, tensor: string): Buffer {
  const entries: Entry[] = [
    { key: "split.no", type: "uint16", value: index },
    { key: "split.count", type: "uint16", value: partCount },
  ];
  return writeModel({
    entries: index === 0 ? [architecture, ...entries] : entries,
    tensors: [{ name: tensor, shape: [8], offset: 0 }],
    content: new Uint8Array(32),
  });
}

async function save(folder: TemporaryFolder, name: string, bytes: Uint8Array): Promise<string> {
  const path = join(folder.path, name);
  await writeFile(path, bytes);
  return path;
}

async function fastestOfThree(work: () => Promise<unknown>): Promise<number> {
  let fastest = Number.POSITIVE_INFINITY;
  for (let run = 0; run < 3; run += 1) {
    const start = performance.now();
    await work();
    fastest = Math.min(fastest, performance.now() - start);
  }
  return fastest;
}

function errorOfKind(kind: string): unknown {
  return expect.objectContaining({ detail: expect.objectContaining({ kind }) });
}

function stringsOf(value: unknown): MetadataList & { readonly kind: "strings" } {
  // The test passes a key that holds strings; any other value fails on first use.
  return value as MetadataList & { readonly kind: "strings" };
}
