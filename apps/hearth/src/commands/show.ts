import type { ServerFlags } from "../server-client/call-server.ts";
import { type ShownModel, showModel } from "../server-client/response-types.ts";
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

type ShowFlags = ServerFlags & { readonly [Part in ShownPart | "json" | "verbose"]?: boolean };

export const define: Define = (command) => {
  command.argument("<model>", "the name of a model that is here");
  for (const part of parts) command.option(`--${part}`, `only its ${titles[part]}`);
  addServerFlags(
    command
      .option("-v, --verbose", "also everything that its file says, and its tensors")
      .option("--json", "everything, as JSON, for programs"),
  ).action((model: string, flags: ShowFlags) =>
    withServer(flags, async (server) => {
      const shown = await showModel(server, model, flags.verbose);
      const asked = parts.find((part) => flags[part] === true);
      if (flags.json === true) screen.line(JSON.stringify(shown, null, 2));
      else if (asked !== undefined) screen.line(tellPart(shown, asked));
      else {
        const more = flags.verbose === true ? describeFile(shown) : [];
        for (const line of drawGroups([...describeGroups(shown), ...more], screen)) screen.line(line);
      }
    }),
  );
};

export function tellPart(shown: ShownModel, part: ShownPart): string {
  return makeSafe((shown[part] ?? "").trimEnd()) || `This model has no ${titles[part]} of its own`;
}

/** What a model is, in a few short groups. */
export function describeShown(shown: ShownModel, on: Screen): readonly string[] {
  return drawGroups(describeGroups(shown), on);
}

type Group = readonly [title: string, lines: readonly string[]];

function describeGroups(shown: ShownModel): readonly Group[] {
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
  return [
    ["Model", rows.map(([name, value]) => padTo(name, 20) + String(value))],
    ["Capabilities", capabilities],
    ["Parameters", linesOf(parameters)],
    ["System", linesOf(system).slice(0, 12)],
    ["License", linesOf(license).slice(0, 2)],
  ];
}

function describeFile({ model_info: facts = {}, projector_info: seeing = {}, tensors = [] }: ShownModel) {
  return [
    ["Metadata", tellFacts(facts)],
    ["Projector", tellFacts(seeing)],
    [
      "Tensors",
      tensors.map(({ name, type, shape }) => `${padTo(name, 40)} ${padTo(type, 6)} ${shape.join(" × ")}`),
    ],
  ] as const;
}

function tellFacts(facts: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.entries(facts).map(([name, value]) => `${padTo(name, 40)} ${tellValue(value)}`);
}

const shownOfList = 3;
const mostValueLetters = 120;

/** A list, as of all words that the model knows, by its beginning and its length. */
function tellValue(value: unknown): string {
  if (Array.isArray(value)) {
    const first = value.slice(0, shownOfList).map((each) => JSON.stringify(each));
    const rest = value.length > shownOfList ? `, … (${value.length} in all)` : "";
    return `${first.join(", ")}${rest}`;
  }
  const text = String(value);
  return text.length > mostValueLetters ? `${text.slice(0, mostValueLetters)}…` : text;
}

function drawGroups(groups: readonly Group[], { style, columns }: Screen): readonly string[] {
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
