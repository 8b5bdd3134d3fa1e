import { recordFigure } from "@hearth-and-keep/figures";
import { describe, expect, test } from "vitest";
import { detectReasoningFormat, type ReasoningFormat, reasoningFormats } from "./reasoning-formats.ts";
import { type AnswerPlan, promptOpensReasoning } from "./split-answer.ts";
import { byteByByte, cutAtEveryByte, plainPlan, readAnswer } from "./test/read-answer.ts";
import { genericFormat } from "./tool-calls/formats.ts";

const harmony: AnswerPlan = { ...plainPlan, format: { type: "harmony" } };

describe("thinking is split from the answer in the tags of each family, cut at every byte", () => {
  test("the tags of every family", async () => {
    for (const format of reasoningFormats) {
      const said = `${format.opens[0]}\nLet me see: é < 3\n\nyes 😀\n${format.close}\n\nThe answer é.\n`;
      const expected = { reasoning: "Let me see: é < 3\n\nyes 😀", text: "The answer é.\n" };
      expect(await splitEveryWay(said, planFor(format)), format.name).toEqual([expected]);
    }
    recordFigure({
      claim: "engine 13",
      text: `thinking split in ${reasoningFormats.length} kinds of tags, cut at every byte`,
      counted: { reached: reasoningFormats.length, needed: 10 },
    });
  });

  test("thinking that the prompt opened, with and without the tag written again", async () => {
    const plan = { ...planFor(tag("think")), startsInReasoning: true };
    const split = { reasoning: "hm é", text: "Yes." };
    expect(await splitEveryWay("hm é\n</think>\n\nYes.", plan)).toEqual([split]);
    expect(await splitEveryWay("\n<think>\nhm é</think>Yes.", plan)).toEqual([split]);
  });

  test("the channels of gpt-oss, with and without headings", async () => {
    const channels =
      "<|channel|>analysis<|message|>hm é 😀<|end|><|start|>assistant<|channel|>final<|message|>Yes <b>.";
    expect(await splitEveryWay(channels, harmony)).toEqual([{ reasoning: "hm é 😀", text: "Yes <b>." }]);
    expect(await splitEveryWay(`${channels}<|return|>`, harmony)).toEqual([
      { reasoning: "hm é 😀", text: "Yes <b>." },
    ]);
    expect(await splitEveryWay('{"ok": true}', harmony)).toEqual([{ reasoning: "", text: '{"ok": true}' }]);
  });

  test("thinking that never ends is thinking, an answer without it is all text", async () => {
    expect(await splitEveryWay("<think>hm\n", planFor(tag("think")))).toEqual([
      { reasoning: "hm", text: "" },
    ]);
    expect(await splitEveryWay(" \n<b>Yes</b> ", planFor(tag("think")))).toEqual([
      { reasoning: "", text: " \n<b>Yes</b> " },
    ]);
    expect(await splitEveryWay("", planFor(tag("think")))).toEqual([{ reasoning: "", text: "" }]);
  });

  test("empty thinking says nothing", async () => {
    expect(await splitEveryWay("<think>\n\n</think>\n\nYes", planFor(tag("think")))).toEqual([
      { reasoning: "", text: "Yes" },
    ]);
  });

  test("a tag behind the beginning is text, one at the beginning is not", async () => {
    const said = "Write <think> and </think>.";
    expect(await splitEveryWay(said, planFor(tag("think")))).toEqual([{ reasoning: "", text: said }]);
    expect(await splitEveryWay(`<think>a</think>${said}`, planFor(tag("think")))).toEqual([
      { reasoning: "a", text: said },
    ]);
  });
});

test("an answer cut off by its limit shows no half tag", async () => {
  const said = "<think>hm</think>Yes";
  for (const [part = ""] of cutAtEveryByte(said)) {
    const { text, reasoning } = await readAnswer([part], planFor(tag("think")), "length");
    expect("hm".startsWith(reasoning)).toBe(true);
    expect("Yes".startsWith(text)).toBe(true);
  }
  expect((await readAnswer(["<th"], planFor(tag("think")), "stop")).text).toBe("<th");
});

test("a template tells the tags of its family, and one without tags tells none", () => {
  for (const format of reasoningFormats) {
    const signs = format.signs?.join(" ") ?? format.close;
    expect(detectReasoningFormat(`{% if x %}${signs}{% endif %}`)?.name).toBe(format.name);
  }
  expect(detectReasoningFormat("{{ messages }}")).toBe(undefined);
});

test("a prompt that ends in the opening tag leaves the model thinking, another does not", () => {
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

function planFor(reasoning: ReasoningFormat): AnswerPlan {
  return { ...plainPlan, format: { type: "tags", reasoning, toolCalls: genericFormat } };
}

type Split = { readonly reasoning: string; readonly text: string };

/** All different ways in which the text was split over all its cuts. */
async function splitEveryWay(said: string, plan: AnswerPlan): Promise<Split[]> {
  const found = new Map<string, Split>();
  for (const parts of [...cutAtEveryByte(said), byteByByte(said)]) {
    const { reasoning, text } = await readAnswer(parts, plan);
    found.set(JSON.stringify([reasoning, text]), { reasoning, text });
  }
  return [...found.values()];
}
