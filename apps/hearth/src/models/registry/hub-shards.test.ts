import { expect, test } from "vitest";
import { digestOf } from "../store/digest.ts";
import { chooseShards } from "./hub-shards.ts";

function filesOf(...paths: readonly string[]) {
  return paths.map((path) => ({ path, digest: digestOf(path), size: 1 }));
}

const repository = filesOf(
  "Q8_0/model-Q8_0-00002-of-00002.gguf",
  "Q8_0/model-Q8_0-00001-of-00002.gguf",
  "model-Q4_K_M-00001-of-00002.gguf",
  "model-Q4_K_M-00002-of-00002.gguf",
  "model-IQ4_K_M-00001-of-00001.gguf",
  "BF16/model-00001-of-00002.gguf",
  "single-Q2_K.gguf",
  "README.md",
);

test.for([
  ["Q8_0", "Q8_0/model-Q8_0-00001-of-00002.gguf"],
  ["q8_0", "Q8_0/model-Q8_0-00001-of-00002.gguf"],
  ["Q4_K_M", "model-Q4_K_M-00001-of-00002.gguf"],
  ["latest", "model-Q4_K_M-00001-of-00002.gguf"],
  ["model-Q8_0-00002-of-00002.gguf", "Q8_0/model-Q8_0-00001-of-00002.gguf"],
] as const)("the tag %s selects the files starting with %s, in order", ([tag, first]) => {
  const chosen = chooseShards(repository, tag)?.map(({ path }) => path);
  expect(chosen).toEqual([first, first.replace("00001-of", "00002-of")]);
});

test.for(["BF16", "Q2_K", "Q3_K_S", "_0", "M"])("the tag %s matches no complete split model", (tag) => {
  expect(chooseShards(repository, tag)).toBeUndefined();
});

test("latest is the first model in the list when the preferred quantization is missing", () => {
  expect(chooseShards(repository.slice(0, 2), "latest")?.length).toBe(2);
  expect(chooseShards([], "latest")).toBeUndefined();
});
