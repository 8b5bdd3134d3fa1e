import { recordFigure } from "@hearth-and-keep/figures";
import { describe, expect, test } from "vitest";
import { detectReasoningFormat, type ReasoningFormat, reasoningFormats } from "./reasoning.ts";
import { type OutputPlan, promptOpensReasoning } from "./split-output.ts";
import { byteByByte, collectOutput, plainPlan, splitAtEveryByte } from "./test/collect-output.ts";
import { genericFormat } from "./tool-calls/formats.ts";

const harmony: OutputPlan = { ...plainPlan, format: { type: "harmony" } };

describe("thinking is separated from the response for the tags of each model family, split at every byte", () => {
  test("the tags of every model family", async () => {
    for (const format of reasoningFormats) {
      const output = `${format.opens[0]}\nLet me see: é < 3\n\nyes 😀\n${format.close}\n\nThe answer é.\n`;
      const expected = { reasoning: "Let me see: é < 3\n\nyes 😀", text: "The answer é.\n" };
      expect(await splitEveryWay(output, planFor(format)), format.name).toEqual([expected]);
    }
    recordFigure({
      claim: "engine 13",
      text: `thinking split in ${reasoningFormats.length} kinds of tags, split at every byte`,
      counted: { reached: reasoningFormats.length, needed: 10 },
    });
  });

  test("thinking that the prompt opens, whether or not the model repeats the tag", async () => {
    const plan = { ...planFor(tag("think")), startsInReasoning: true };
    const split = { reasoning: "hm é", text: "Yes." };
    expect(await splitEveryWay("hm é\n</think>\n\nYes.", plan)).toEqual([split]);
    expect(await splitEveryWay("\n<think>\nhm é</think>Yes.", plan)).toEqual([split]);
  });

  test("the channels of gpt-oss, with and without headers", async () => {
    const channels =
      "<|channel|>analysis<|message|>hm é 😀<|end|><|start|>assistant<|channel|>final<|message|>Yes <b>.";
    expect(await splitEveryWay(channels, harmony)).toEqual([{ reasoning: "hm é 😀", text: "Yes <b>." }]);
    expect(await splitEveryWay(`${channels}<|return|>`, harmony)).toEqual([
      { reasoning: "hm é 😀", text: "Yes <b>." },
    ]);
    expect(await splitEveryWay('{"ok": true}', harmony)).toEqual([{ reasoning: "", text: '{"ok": true}' }]);
  });

  test("unclosed thinking lasts to the end, output without thinking is all text", async () => {
    expect(await splitEveryWay("<think>hm\n", planFor(tag("think")))).toEqual([
      { reasoning: "hm", text: "" },
    ]);
    expect(await splitEveryWay(" \n<b>Yes</b> ", planFor(tag("think")))).toEqual([
      { reasoning: "", text: " \n<b>Yes</b> " },
    ]);
    expect(await splitEveryWay("", planFor(tag("think")))).toEqual([{ reasoning: "", text: "" }]);
  });

  test("empty thinking emits nothing", async () => {
    expect(await splitEveryWay("<think>\n\n</think>\n\nYes", planFor(tag("think")))).toEqual([
      { reasoning: "", text: "Yes" },
    ]);
  });

  test("a tag opens thinking only at the start of the output", async () => {
    const output = "Write <think> and </think>.";
    expect(await splitEveryWay(output, planFor(tag("think")))).toEqual([{ reasoning: "", text: output }]);
    expect(await splitEveryWay(`<think>a</think>${output}`, planFor(tag("think")))).toEqual([
      { reasoning: "a", text: output },
    ]);
  });
});

test("output truncated by its limit shows no partial tag", async () => {
  const output = "<think>hm</think>Yes";
  for (const [chunk = ""] of splitAtEveryByte(output)) {
    const { text, reasoning } = await collectOutput([chunk], planFor(tag("think")), "length");
    expect("hm".startsWith(reasoning)).toBe(true);
    expect("Yes".startsWith(text)).toBe(true);
  }
  expect((await collectOutput(["<th"], planFor(tag("think")), "stop")).text).toBe("<th");
});

test("the format is detected from the template, and a template without tags has none", () => {
  for (const format of reasoningFormats) {
    const markers = format.templateMarkers?.join(" ") ?? format.close;
    expect(detectReasoningFormat(`{% if x %}${markers}{% endif %}`)?.name).toBe(format.name);
  }
  expect(detectReasoningFormat("{{ messages }}")).toBe(undefined);
});

test("only a prompt that ends in the opening tag starts the output in thinking", () => {
  const { format } = planFor(tag("think"));
  expect(promptOpensReasoning("<|im_start|>assistant\n<think>\n", format)).toBe(true);
  expect(promptOpensReasoning("<|im_start|>assistant\n<think>\n\n</think>\n\n", format)).toBe(false);
  expect(promptOpensReasoning("<|im_start|>assistant\n", format)).toBe(false);
});

function tag(name: string): ReasoningFormat {
  const found = reasoningFormats.find((format) => format.name === name);
  if (found === undefined) throw new Error(`Cannot find the format "${name}"`);
  return found;
}

function planFor(reasoning: ReasoningFormat): OutputPlan {
  return { ...plainPlan, format: { type: "tags", reasoning, toolCalls: genericFormat } };
}

type Split = { readonly reasoning: string; readonly text: string };

/** The distinct results over all ways to chunk the text. */
async function splitEveryWay(output: string, plan: OutputPlan): Promise<Split[]> {
  const found = new Map<string, Split>();
  for (const chunks of [...splitAtEveryByte(output), byteByByte(output)]) {
    const { reasoning, text } = await collectOutput(chunks, plan);
    found.set(JSON.stringify([reasoning, text]), { reasoning, text });
  }
  return [...found.values()];
}
