import { padToWidth, type Screen, sanitizeText, screen, wrapToWidth } from "@hearth-and-keep/terminal";
import { type ModelInfo, showModel } from "../server-client/response-types.ts";
import type { ServerFlags } from "../server-client/server-client.ts";
import { formatParameterCount } from "../terminal/format-units.ts";
import type { DefineCommand } from "./command-entry.ts";
import { addServerFlags, withServer } from "./server-flags.ts";

export const modelFields = ["modelfile", "parameters", "template", "system", "license"] as const;
export type ModelField = (typeof modelFields)[number];

const fieldTitles = {
  modelfile: "Modelfile",
  parameters: "parameters",
  template: "template",
  system: "system prompt",
  license: "license",
} as const;

type ShowFlags = ServerFlags & { readonly [Field in ModelField | "json" | "verbose"]?: boolean };

export const define: DefineCommand = (command) => {
  command.argument("<model>", "name of a local model");
  for (const field of modelFields) command.option(`--${field}`, `show only the ${fieldTitles[field]}`);
  addServerFlags(
    command
      .option("-v, --verbose", "also show all metadata and tensors of the model file")
      .option("--json", "print everything as JSON"),
  ).action((model: string, flags: ShowFlags) =>
    withServer(flags, async (server) => {
      const modelInfo = await showModel(server, model, flags.verbose);
      const field = modelFields.find((each) => flags[each] === true);
      if (flags.json === true) screen.writeLine(JSON.stringify(modelInfo, null, 2));
      else if (field !== undefined) screen.writeLine(formatField(modelInfo, field));
      else {
        const metadata = flags.verbose === true ? metadataSections(modelInfo) : [];
        const sections = [...summarySections(modelInfo), ...metadata];
        for (const line of renderSections(sections, screen)) screen.writeLine(line);
      }
    }),
  );
};

export function formatField(modelInfo: ModelInfo, field: ModelField): string {
  return sanitizeText((modelInfo[field] ?? "").trimEnd()) || `This model has no ${fieldTitles[field]}`;
}

/** A short summary of a model, in titled sections. */
export function renderModelInfo(modelInfo: ModelInfo): readonly string[] {
  return renderSections(summarySections(modelInfo), screen);
}

type Section = readonly [title: string, lines: readonly string[]];

function summarySections(modelInfo: ModelInfo): readonly Section[] {
  const { details = {}, model_info: metadata = {}, capabilities = [] } = modelInfo;
  const architecture = stringOrEmpty(metadata["general.architecture"]) || (details.family ?? "");
  const properties: readonly (readonly [name: string, value: unknown])[] = [
    ["architecture", architecture],
    [
      "parameters",
      formatParameterCount(Number(metadata["general.parameter_count"] ?? 0)) || details.parameter_size,
    ],
    ["context length", metadata[`${architecture}.context_length`]],
    ["embedding length", metadata[`${architecture}.embedding_length`]],
    ["quantization", details.quantization_level],
    ["parent model", details.parent_model],
  ];
  const rows = properties.filter(([, value]) => value !== undefined && value !== "" && value !== "0");
  return [
    ["Model", rows.map(([name, value]) => padToWidth(name, 20) + String(value))],
    ["Capabilities", capabilities],
    ["Parameters", nonEmptyLines(modelInfo.parameters)],
    ["System", nonEmptyLines(modelInfo.system).slice(0, 12)],
    ["License", nonEmptyLines(modelInfo.license).slice(0, 2)],
  ];
}

function metadataSections({ model_info = {}, projector_info = {}, tensors = [] }: ModelInfo) {
  return [
    ["Metadata", formatMetadata(model_info)],
    ["Projector", formatMetadata(projector_info)],
    [
      "Tensors",
      tensors.map(
        ({ name, type, shape }) => `${padToWidth(name, 40)} ${padToWidth(type, 6)} ${shape.join(" × ")}`,
      ),
    ],
  ] as const;
}

function formatMetadata(metadata: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.entries(metadata).map(
    ([name, value]) => `${padToWidth(name, 40)} ${formatMetadataValue(value)}`,
  );
}

const maxListItems = 3;
const maxValueCharacters = 120;

/** Long lists, such as the vocabulary, are shown by their first items and their length. */
function formatMetadataValue(value: unknown): string {
  if (Array.isArray(value)) {
    const first = value.slice(0, maxListItems).map((each) => JSON.stringify(each));
    const rest = value.length > maxListItems ? `, … (${value.length} items)` : "";
    return `${first.join(", ")}${rest}`;
  }
  const text = String(value);
  return text.length > maxValueCharacters ? `${text.slice(0, maxValueCharacters)}…` : text;
}

function renderSections(sections: readonly Section[], { style, columns }: Screen): readonly string[] {
  return sections
    .filter(([, lines]) => lines.length > 0)
    .flatMap(([title, lines]) => [
      `  ${style("bold", title)}`,
      ...lines.flatMap((line) => wrapToWidth(sanitizeText(line), columns() - 5).map((row) => `    ${row}`)),
      "",
    ]);
}

function stringOrEmpty(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function nonEmptyLines(text = ""): readonly string[] {
  return text.split("\n").filter((line) => line.trim() !== "");
}
