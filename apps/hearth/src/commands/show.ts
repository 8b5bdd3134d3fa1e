import type { ServerFlags } from "../calling/call-server.ts";
import { type ShownModel, showModel } from "../calling/server-answers.ts";
import { tellCount } from "../terminal/measures.ts";
import { type Screen, screen } from "../terminal/screen.ts";
import { padTo, wrapTo } from "../terminal/text-width.ts";
import { makeSafe } from "../terminal/untrusted-text.ts";
import type { Define } from "./command-row.ts";
import { addServerFlags, withServer } from "./server-flags.ts";

const parts = ["modelfile", "parameters", "template", "system", "license"] as const;
export type ShownPart = (typeof parts)[number];

const titles = {
  modelfile: "Modelfile",
  parameters: "parameters",
  template: "template",
  system: "system text",
  license: "license",
} as const;

type ShowFlags = ServerFlags & { readonly [Part in ShownPart | "json"]?: boolean };

export const define: Define = (command) => {
  command.argument("<model>", "the name of a model that is here");
  for (const part of parts) command.option(`--${part}`, `only its ${titles[part]}`);
  addServerFlags(command.option("--json", "everything, as JSON, for programs")).action(
    (model: string, flags: ShowFlags) =>
      withServer(flags, async (server) => {
        const shown = await showModel(server, model);
        const asked = parts.find((part) => flags[part] === true);
        if (flags.json === true) screen.line(JSON.stringify(shown, null, 2));
        else if (asked !== undefined) screen.line(tellPart(shown, asked));
        else for (const line of describeShown(shown, screen)) screen.line(line);
      }),
  );
};

export function tellPart(shown: ShownModel, part: ShownPart): string {
  return makeSafe((shown[part] ?? "").trimEnd()) || `This model has no ${titles[part]} of its own`;
}

/** What a model is, in a few short groups. */
export function describeShown(shown: ShownModel, { style, columns }: Screen): readonly string[] {
  const { details = {}, model_info: facts = {}, parameters, system, license, capabilities = [] } = shown;
  const architecture = tellText(facts["general.architecture"]) || (details.family ?? "");
  const known: readonly (readonly [name: string, value: unknown])[] = [
    ["architecture", architecture],
    ["parameters", tellCount(Number(facts["general.parameter_count"] ?? 0)) || details.parameter_size],
    ["context length", facts[`${architecture}.context_length`]],
    ["embedding length", facts[`${architecture}.embedding_length`]],
    ["quantization", details.quantization_level],
    ["made from", details.parent_model],
  ];
  const rows = known.filter(([, value]) => value !== undefined && value !== "" && value !== "0");
  const groups: readonly (readonly [title: string, lines: readonly string[]])[] = [
    ["Model", rows.map(([name, value]) => padTo(name, 20) + String(value))],
    ["Capabilities", capabilities],
    ["Parameters", linesOf(parameters)],
    ["System", linesOf(system).slice(0, 12)],
    ["License", linesOf(license).slice(0, 2)],
  ];
  return groups
    .filter(([, lines]) => lines.length > 0)
    .flatMap(([title, lines]) => [
      `  ${style("bold", title)}`,
      ...lines.flatMap((line) => wrapTo(makeSafe(line), columns() - 5).map((part) => `    ${part}`)),
      "",
    ]);
}

function tellText(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function linesOf(text = ""): readonly string[] {
  return text.split("\n").filter((line) => line.trim() !== "");
}
