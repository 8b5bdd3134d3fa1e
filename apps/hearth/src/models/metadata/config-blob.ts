import type { ModelFile } from "@hearth-and-keep/gguf";
import { Compile } from "typebox/compile";
import { encodeGoJson } from "../store/manifest.ts";
import { parseJson } from "../store/parse-json.ts";
import { configSchema } from "./schema.ts";

/** The configuration of a model. Fields that it leaves out are taken from the header of the model file. */
export type ModelConfig = {
  readonly format?: string;
  readonly family?: string;
  readonly families: readonly string[];
  readonly parameterSize?: string;
  readonly quantization?: string;
  readonly capabilities: readonly string[];
  /** Set on the stub of a cloud model, which runs on the publisher's servers. */
  readonly remoteHost?: string;
};

export const emptyConfig: ModelConfig = { families: [], capabilities: [] };
export const maxConfigBytes = 1024 * 1024;
const validator = Compile(configSchema);

/** Throws SchemaError when the content is not a configuration. */
export function parseConfig(content: Uint8Array): ModelConfig {
  const config = parseJson(content, validator);
  const texts = {
    format: config.model_format,
    family: config.model_family,
    parameterSize: config.model_type,
    quantization: config.file_type,
    remoteHost: config.remote_host,
  };
  // Only entries with a value remain, and all of them are optional fields.
  const present = Object.fromEntries(
    Object.entries(texts).filter(([, text]) => text),
  ) as Partial<ModelConfig>;
  return { ...present, families: config.model_families ?? [], capabilities: config.capabilities ?? [] };
}

/** Encodes a configuration as Ollama does, including the constants at the end. Projectors and adapters add families. */
export function encodeConfig(
  { architecture, parameterCount, fileType }: Pick<ModelFile, "architecture" | "parameterCount" | "fileType">,
  otherFamilies: readonly string[] = [],
): Buffer {
  const family = architecture ?? "unknown";
  return encodeGoJson({
    model_format: "gguf",
    model_family: family,
    model_families: [family, ...otherFamilies],
    model_type: formatParameterCount(parameterCount),
    file_type: fileType,
    architecture: "amd64",
    os: "linux",
  });
}

/** "134.52M", "8.0B": two decimals for millions, one for larger units, none for integers. */
export function formatParameterCount(count: number): string {
  if (count >= 1e12) return formatUnits(count / 1e12, "T", 1);
  if (count >= 1e9) return formatUnits(count / 1e9, "B", 1);
  if (count >= 1e6) return formatUnits(count / 1e6, "M", 2);
  if (count >= 1e3) return formatUnits(count / 1e3, "K", 0);
  return String(count);
}

function formatUnits(value: number, unit: string, decimals: number): string {
  return `${value.toFixed(Number.isInteger(value) ? 0 : decimals)}${unit}`;
}
