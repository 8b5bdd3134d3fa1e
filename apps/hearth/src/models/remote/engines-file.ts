/**
 * @module
 * Models on remote engines: the TOML file that lists them, and their place in the catalog next to the models of this
 * machine. Guarantees that every error in the file is reported, that no description contains a key, and that such a
 * model is never copied, pushed or removed as if it had files here.
 * Does not connect to engines: it returns the plan for the engine pool. Imported by `commands/` and `scheduling/`.
 */
import { readFile, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { SettingsError } from "@hearth-and-keep/configuration";
import type { PoolPlan } from "@hearth-and-keep/upstream-engine";
import { parse as parseToml } from "smol-toml";
import type { Capability } from "../metadata/capabilities.ts";
import type { RemoteExecution } from "../metadata/describe-model.ts";
import { displayModelName, tryParseModelName } from "../model-name.ts";
import { type Digest, digestOf } from "../store/digest.ts";
import { locateEngines, parseEngines } from "./parse-engines.ts";
import { below, isTable, type ReportError, readTable, type TomlTable } from "./read-table.ts";
import { gatewayFields, modelFields, remoteCapabilities } from "./schema.ts";

export type RemoteModel = {
  /** As shown in the catalog. */
  readonly name: string;
  /** Of the model's entry in the file, without its key. */
  readonly digest: Digest;
  /** Of the file. */
  readonly modifiedAt: string;
  readonly capabilities: readonly Capability[];
  /** Concurrent requests that the engines in the file accept together. */
  readonly sequences: number;
  readonly location: RemoteExecution["location"];
  readonly plan: PoolPlan;
};

const maxBytes = 1024 * 1024;
const maxModels = 256;
const defaultRequestsPerEngine = 32;
/** The assumed number of engines until discovery reports it. */
const undiscoveredEngines = 1;

/** An empty list without a file. Throws a SettingsError with all errors. */
export async function readEnginesFile(path: string | undefined): Promise<readonly RemoteModel[]> {
  if (path === undefined) return [];
  const { text, modifiedAt } = await open(path);
  const errors: string[] = [];
  const addError = (message: string): void => void errors.push(`${path}: ${message}`);
  const report: ReportError = (field, message) => addError(`"${field}" ${message}`);
  const { models: tables, ...others } = parse(text, addError);
  for (const key of Object.keys(others)) addError(`there is no setting named "${key}"`);
  const entries = Object.entries(isTable(tables) ? tables : {}).slice(0, maxModels + 1);
  if (entries.length > maxModels) report("models", `must have at most ${maxModels} entries`);
  if (entries.length === 0 && errors.length === 0) report("models", "must list a model, e.g. [models.qwen3]");
  const models: RemoteModel[] = [];
  for (const [name, value] of entries) {
    const entry = { name, table: isTable(value) ? value : {}, folder: dirname(resolve(path)) };
    const model = await readModel(entry, below(report, `models.${name}`));
    if (model !== undefined) models.push({ ...model, modifiedAt });
  }
  const names = models.map(({ name }) => name.toLowerCase());
  if (new Set(names).size < names.length) report("models", "lists the same model twice");
  if (errors.length > 0) throw new SettingsError(errors);
  return models;
}

async function open(path: string): Promise<{ readonly text: string; readonly modifiedAt: string }> {
  try {
    const { size, mtime } = await stat(path);
    if (size > maxBytes) throw new SettingsError([`${path}: must have at most ${maxBytes} bytes`]);
    return { text: await readFile(path, "utf8"), modifiedAt: mtime.toISOString() };
  } catch (error) {
    if (error instanceof SettingsError) throw error;
    throw new SettingsError([`--engines-file names "${path}", which cannot be read`]);
  }
}

function parse(text: string, addError: (message: string) => void): TomlTable {
  try {
    return parseToml(text);
  } catch (error) {
    addError(error instanceof Error ? (error.message.split("\n")[0] ?? "") : "is not valid TOML");
    return {};
  }
}

type ModelTable = { readonly name: string; readonly table: TomlTable; readonly folder: string };

async function readModel(
  { name: key, table, folder }: ModelTable,
  report: ReportError,
): Promise<Omit<RemoteModel, "modifiedAt"> | undefined> {
  const entry = readTable(table, modelFields, report);
  const { dialect = "openai", model, context_tokens: contextTokens, capabilities = [] } = entry;
  const name = tryParseModelName(key);
  if (name === undefined) report("", "is not a model name such as qwen3 or qwen3:8b");
  const engines = parseEngines(table, entry, report);
  const apiKey = await readKey(entry.key_file, folder, report);
  if (name === undefined || engines === undefined) return undefined;
  const plan: PoolPlan = {
    dialect,
    engines,
    requestsPerEngine: entry.requests_per_engine ?? defaultRequestsPerEngine,
    canSeeImages: capabilities.includes("vision"),
    canHearAudio: capabilities.includes("audio"),
    ...(model === undefined ? {} : { model }),
    ...(contextTokens === undefined ? {} : { contextTokens }),
    ...(apiKey === undefined ? {} : { key: apiKey }),
    ...(entry.llm_d === undefined
      ? {}
      : { gateway: readTable({ ...entry.llm_d }, gatewayFields, below(report, "llm_d")) }),
  };
  const location = entry.location ?? locateEngines(engines);
  // The ids of callers are for the operator's own gateway.
  if (plan.gateway !== undefined && location === "remote")
    report("llm_d", 'is for engines of your own network; if these are, set location = "pool"');
  const engineCount = engines.type === "addresses" ? engines.addresses.length : undiscoveredEngines;
  return {
    name: displayModelName(name),
    digest: digestOf(JSON.stringify([`models.${key}`, table])),
    capabilities: capabilitiesOf(capabilities),
    sequences: plan.requestsPerEngine * engineCount,
    location,
    plan,
  };
}

/** Every model completes text, except one that is only listed with the capability to embed. */
function capabilitiesOf(listed: readonly Capability[]): readonly Capability[] {
  const isEmbedder = listed.length === 1 && listed[0] === "embedding";
  return remoteCapabilities.filter((name) => listed.includes(name) || (name === "completion" && !isEmbedder));
}

async function readKey(
  path: string | undefined,
  folder: string,
  report: ReportError,
): Promise<string | undefined> {
  if (path === undefined) return undefined;
  const text = await readFile(resolve(folder, path), "utf8").catch(() => undefined);
  const key = text?.trim();
  if (key !== undefined && /^[\u0021-\u007E]{1,1024}$/u.test(key)) return key;
  report("key_file", "must be a file with a key: one line of at most 1024 visible ASCII characters");
  return undefined;
}
