import type { ModelFile } from "@hearth-and-keep/gguf";
import { parseFields, textField, textListField } from "../store/json-fields.ts";
import { writeJson } from "../store/write-json.ts";

/** What the configuration of a model says; absent where it says nothing, and then the file's header is asked. */
export type ModelConfig = {
  readonly format?: string;
  readonly family?: string;
  readonly families: readonly string[];
  readonly parameterSize?: string;
  readonly quantization?: string;
  readonly capabilities: readonly string[];
  /** Set on a stub that stands for a model on its maker's machines. */
  readonly remoteHost?: string;
};

export const emptyConfig: ModelConfig = { families: [], capabilities: [] };
export const mostConfigBytes = 1024 * 1024;
const longestText = 1024;
const lists = { most: 64, longest: longestText };

/** Throws ShapeError when the bytes are no configuration. */
export function parseConfig(content: Uint8Array): ModelConfig {
  const fields = parseFields(content);
  const texts = {
    format: textField(fields, "model_format", longestText),
    family: textField(fields, "model_family", longestText),
    parameterSize: textField(fields, "model_type", longestText),
    quantization: textField(fields, "file_type", longestText),
    remoteHost: textField(fields, "remote_host", longestText),
  };
  // The entries with a value are the optional fields that are there.
  const present = Object.fromEntries(
    Object.entries(texts).filter(([, text]) => text),
  ) as Partial<ModelConfig>;
  return {
    ...present,
    families: textListField(fields, "model_families", lists),
    capabilities: textListField(fields, "capabilities", lists),
  };
}

/** As Ollama writes it, the fixed words at the end too. The others are the families of what lies beside the weights. */
export function writeConfig(
  { architecture, parameterCount, fileType }: Pick<ModelFile, "architecture" | "parameterCount" | "fileType">,
  others: readonly string[] = [],
): Buffer {
  const family = architecture ?? "unknown";
  return writeJson({
    model_format: "gguf",
    model_family: family,
    model_families: [family, ...others],
    model_type: describeParameterCount(parameterCount),
    file_type: fileType,
    architecture: "amd64",
    os: "linux",
  });
}

/** "134.52M", "8.0B": two decimals for millions and one above, none where the number is whole. */
export function describeParameterCount(count: number): string {
  if (count >= 1e12) return inUnits(count / 1e12, "T", 1);
  if (count >= 1e9) return inUnits(count / 1e9, "B", 1);
  if (count >= 1e6) return inUnits(count / 1e6, "M", 2);
  if (count >= 1e3) return inUnits(count / 1e3, "K", 0);
  return String(count);
}

function inUnits(value: number, unit: string, decimals: number): string {
  return `${value.toFixed(Number.isInteger(value) ? 0 : decimals)}${unit}`;
}
