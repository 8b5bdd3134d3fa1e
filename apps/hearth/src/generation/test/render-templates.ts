import { fileURLToPath } from "node:url";
import { familyTemplatesFolder } from "@hearth-and-keep/chat-templates/testing";
import type { JsonObject } from "@hearth-and-keep/engine";
import { runPython } from "@hearth-and-keep/test-servers";

export type CallToRender = { readonly id: string; readonly name: string; readonly arguments: JsonObject };
export type TurnToRender = { readonly content: string | null; readonly calls: readonly CallToRender[] };

export type RenderedTemplate = {
  readonly template: string;
  readonly source: string;
  /** One for each requested turn; null if the template cannot render it. */
  readonly turns: readonly (RenderedTurn | null)[];
};

type RenderedTurn = {
  /** The prompt before the turn. */
  readonly prompt: string;
  /** The raw output of the turn, without the end-of-turn token. */
  readonly output: string;
};

type Rendered = { readonly prompt: string; readonly conversation: string };

const renderScript = fileURLToPath(new URL("../tool-calls/fixtures/render-calls.py", import.meta.url));

/** Renders every turn with every template, using Jinja2. */
export async function renderTemplates(turns: readonly TurnToRender[]): Promise<RenderedTemplate[]> {
  const folder = await familyTemplatesFolder();
  const printed = await runPython(renderScript, [folder, JSON.stringify(turns)]);
  // The format of the script's output.
  const templates = JSON.parse(printed) as {
    template: string;
    source: string;
    turns: (Rendered | null)[];
  }[];
  return templates.map(({ template, source, turns: rendered }) => ({
    template,
    source,
    turns: rendered.map((turn) => (turn === null ? null : extractOutput(turn))),
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

/** The text after the prompt. A tag that the prompt only starts belongs to the output. */
function extractOutput({ prompt, conversation }: Rendered): RenderedTurn {
  let shared = 0;
  while (shared < prompt.length && prompt[shared] === conversation[shared]) shared += 1;
  const openTagLength = /<[^<>]*$/u.exec(conversation.slice(0, shared))?.[0].length ?? 0;
  const rest = conversation.slice(shared - openTagLength);
  const ends = turnEnds.map((end) => rest.indexOf(end)).filter((at) => at !== -1);
  return { prompt, output: rest.slice(0, Math.min(rest.length, ...ends)) };
}
