import { inspectModelFile } from "@hearth-and-keep/gguf";
import { type TestModelName, testModel } from "@hearth-and-keep/test-servers";
import * as fc from "fast-check";
import { getLlama, LlamaLogLevel, type Token } from "node-llama-cpp";
import { expect, test } from "vitest";
import { findTextCuts } from "./find-text-cuts.ts";
import { sliceText, type TextCuts, tokenizeSlices } from "./slice-text.ts";

const fragments = [
  " word",
  " Word",
  "ing",
  "\nline",
  "\n\nparagraph",
  "\r\n",
  "  indented",
  "\t",
  "x1y22z333",
  "it's",
  " we'll",
  "…",
  "(a+b)*c;",
  "<|im_start|>user",
  "<|im_end|>\n",
  "<|im_",
  "汉字，汉字。",
  "é́",
  "\u{1F600}\u{1F468}\u200D\u{1F469}",
  "नमस्ते",
  " 3.14",
  "!!!",
  " ",
  "\n",
];

type Vocabulary = {
  readonly file: TestModelName;
  readonly kind: string;
  /** One of its special tokens. */
  readonly special: string;
};

const vocabularies: readonly Vocabulary[] = [
  { file: "smollm2-135m-instruct-q4_1.gguf", kind: "byte pairs", special: "<|im_start|>" },
  { file: "mistral-vocabulary.gguf", kind: "SentencePiece", special: "</s>" },
];

async function loadVocabulary({ file }: Vocabulary) {
  const modelPath = await testModel(file);
  const cuts = findTextCuts((await inspectModelFile(modelPath)).metadata);
  if (cuts === undefined) throw new Error("Cannot slice texts for this vocabulary");
  const llama = await getLlama({ gpu: false, build: "never", logLevel: LlamaLogLevel.error });
  const model = await llama.loadModel({ modelPath, vocabOnly: true });
  return {
    cuts,
    tokenize: (text: string, hasSpecials: boolean): readonly number[] => model.tokenize(text, hasSpecials),
    // The tokens are this model's own.
    detokenize: (tokens: readonly number[]): string => model.detokenize(tokens as readonly Token[]),
    async [Symbol.asyncDispose]() {
      await model.dispose();
      await llama.dispose();
    },
  };
}

function tokenizeParts(
  text: string,
  cuts: TextCuts,
  tokenize: (slice: string) => readonly number[],
): readonly (readonly number[])[] {
  const slices = [...sliceText(text, cuts, 96)];
  expect(slices.join("")).toBe(text);
  return [...tokenizeSlices(slices, cuts, tokenize)];
}

test.each(vocabularies)(
  "the tokens of a text's slices are the tokens of the text: $kind",
  async (vocabulary) => {
    await using loaded = await loadVocabulary(vocabulary);
    const { cuts, tokenize } = loaded;
    expect(cuts.specials).toContain(vocabulary.special);
    let count = 0;
    // Each part has a word, so that a slice has a place for a cut.
    const part = fc
      .tuple(
        fc.array(fc.constantFrom(...fragments, vocabulary.special), { maxLength: 4 }),
        fc.constant(" of course"),
      )
      .map(([before, word]) => before.join("") + word);
    fc.assert(
      fc.property(fc.array(part, { minLength: 5, maxLength: 60 }), fc.boolean(), (parts, hasSpecials) => {
        const text = parts.join("");
        const slices = tokenizeParts(text, cuts, (slice) => tokenize(slice, hasSpecials));
        count += slices.length - 1;
        expect(slices.flat()).toEqual([...tokenize(text, hasSpecials)]);
      }),
      { numRuns: 2000, seed: 20 },
    );
    expect(count).toBeGreaterThan(4000);
  },
);

test("a text without a place for a cut keeps its characters: SentencePiece", async () => {
  await using loaded = await loadVocabulary({ file: "mistral-vocabulary.gguf", kind: "", special: "" });
  const { cuts, tokenize, detokenize } = loaded;
  const text = "abcdefgh".repeat(100);
  const tokens = tokenizeParts(text, cuts, (slice) => tokenize(slice, true)).flat();
  expect(tokens.length).toBeLessThan(1.2 * tokenize(text, true).length);
  expect(detokenize(tokens)).toBe(detokenize(tokenize(text, true)));
});
