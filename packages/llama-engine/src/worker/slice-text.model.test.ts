import { inspectModelFile } from "@hearth-and-keep/gguf";
import { testModel } from "@hearth-and-keep/test-servers";
import * as fc from "fast-check";
import { getLlama, LlamaLogLevel } from "node-llama-cpp";
import { expect, test } from "vitest";
import { sliceText } from "./slice-text.ts";
import { findSpecialTexts } from "./special-texts.ts";

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

test("the tokens of a text's slices are the tokens of the text", async () => {
  const modelPath = await testModel("smollm2-135m-instruct-q4_1.gguf");
  const specials = findSpecialTexts((await inspectModelFile(modelPath)).metadata);
  if (specials === undefined) throw new Error("Cannot slice texts for this model");
  expect(specials.texts).toContain("<|im_start|>");
  const llama = await getLlama({ gpu: false, build: "never", logLevel: LlamaLogLevel.error });
  const model = await llama.loadModel({ modelPath, vocabOnly: true });
  let cuts = 0;
  // Each part has a word, so that a slice has a place for a cut.
  const part = fc
    .tuple(fc.array(fc.constantFrom(...fragments), { maxLength: 4 }), fc.constant(" of course"))
    .map(([before, word]) => before.join("") + word);
  fc.assert(
    fc.property(fc.array(part, { minLength: 5, maxLength: 60 }), fc.boolean(), (parts, hasSpecials) => {
      const text = parts.join("");
      const slices = [...sliceText(text, specials, 96)];
      cuts += slices.length - 1;
      expect(slices.join("")).toBe(text);
      const tokens = slices.flatMap((slice) => model.tokenize(slice, hasSpecials));
      expect(tokens).toEqual([...model.tokenize(text, hasSpecials)]);
    }),
    { numRuns: 2000, seed: 20 },
  );
  expect(cuts).toBeGreaterThan(4000);
  await model.dispose();
  await llama.dispose();
});
