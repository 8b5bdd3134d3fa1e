import { fileURLToPath } from "node:url";
import { familyTemplatesFolder } from "@hearth-and-keep/chat-templates/testing";
import type { JsonObject } from "@hearth-and-keep/engine";
import { runPython } from "@hearth-and-keep/test-servers";

export type CallToRender = { readonly id: string; readonly name: string; readonly arguments: JsonObject };
export type AnswerToRender = { readonly content: string | null; readonly calls: readonly CallToRender[] };

export type RenderedFamily = {
  readonly template: string;
  readonly source: string;
  /** One for each answer that was asked for; null where the template does not write such an answer. */
  readonly answers: readonly (RenderedAnswer | null)[];
};

type RenderedAnswer = {
  /** What the model reads before it answers. */
  readonly prompt: string;
  /** What the model then says, without the token that ends its turn. */
  readonly said: string;
};

type Rendered = { readonly prompt: string; readonly whole: string };

const renderScript = fileURLToPath(new URL("../tool-calls/fixtures/render-calls.py", import.meta.url));

/** Every template renders every answer, by Jinja2 itself. */
export async function renderFamilies(answers: readonly AnswerToRender[]): Promise<RenderedFamily[]> {
  const folder = await familyTemplatesFolder();
  const printed = await runPython(renderScript, [folder, JSON.stringify(answers)]);
  // The shape is what the script prints.
  const families = JSON.parse(printed) as {
    template: string;
    source: string;
    answers: (Rendered | null)[];
  }[];
  return families.map(({ template, source, answers: rendered }) => ({
    template,
    source,
    answers: rendered.map((answer) => (answer === null ? null : findSaid(answer))),
  }));
}

const turnEnds = [
  "<|im_end|>",
  "<EOS>",
  "<|eot_id|>",
  "<|eom_id|>",
  "<|END_OF_TURN_TOKEN|>",
  "<｜end▁of▁sentence｜>",
  "[e~[",
  "<end_of_sentence>",
  "<SPECIAL_12>",
  "<|role_end|>",
  "</assistant>",
  "<|end_of_text|>",
  "<sep>",
  "<turn|>",
  "<|calls|>",
  "<|end_of_msg|>",
  "<|eot|>",
  "<seed:eos>",
  "<｜hy_eos:opensource｜>",
  "<|observation|>",
];

/** The difference to the prompt. A tag that both begin with is left to the answer, which writes it whole. */
function findSaid({ prompt, whole }: Rendered): RenderedAnswer {
  let same = 0;
  while (same < prompt.length && prompt[same] === whole[same]) same += 1;
  const begun = /<[^<>]*$/u.exec(whole.slice(0, same))?.[0].length ?? 0;
  const rest = whole.slice(same - begun);
  const ends = turnEnds.map((end) => rest.indexOf(end)).filter((at) => at !== -1);
  return { prompt, said: rest.slice(0, Math.min(rest.length, ...ends)) };
}
