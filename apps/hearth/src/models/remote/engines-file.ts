/**
 * @module
 * Models that run on engines elsewhere: the file in which an operator names them, and how they stand beside the
 * models of this machine. Promises that every mistake in the file is told in one sentence, that a key stands in no
 * description, and that such a model is never copied, pushed or removed as if it lay here.
 * Knows no engine: who asks them is given the plan. Imported by `commands/` and `scheduling/`.
 */
import { readFile, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { SettingsError } from "@hearth-and-keep/configuration";
import type { PoolPlan } from "@hearth-and-keep/upstream-engine";
import { parse as parseToml } from "smol-toml";
import type { Capability } from "../metadata/capabilities.ts";
import { displayModelName, readModelName } from "../model-name.ts";
import { type Digest, digestOf } from "../store/digest.ts";
import { EntryReader, type TomlTable, tableOf } from "./entry-reader.ts";
import { readEngines } from "./read-engines.ts";

export type RemoteModel = {
  /** As the catalog shows it. */
  readonly name: string;
  /** Of what the file says about it, without its key. */
  readonly digest: Digest;
  /** Of the file. */
  readonly modifiedAt: string;
  readonly capabilities: readonly Capability[];
  /** How many requests its engines take at once, as far as the file tells how many there are. */
  readonly sequences: number;
  readonly plan: PoolPlan;
};

const mostBytes = 1024 * 1024;
const mostModels = 256;
const mostRequests = 10_000;
const mostContextTokens = 16_777_216;
const usualRequests = 32;
/** So many engines are counted on until discovery says how many there are. */
const undiscoveredEngines = 1;

const dialects: readonly PoolPlan["dialect"][] = ["llama-server", "vllm", "sglang", "openai"];
const capabilities: readonly Capability[] = [
  "completion",
  "embedding",
  "vision",
  "tools",
  "insert",
  "thinking",
];
const entryKeys = [
  "dialect",
  "model",
  "addresses",
  "discover",
  "key_file",
  "context_tokens",
  "requests_per_engine",
  "capabilities",
];

/** None without a file. Throws a SettingsError with every mistake. */
export async function readEnginesFile(path: string | undefined): Promise<readonly RemoteModel[]> {
  if (path === undefined) return [];
  const { text, modifiedAt } = await open(path);
  const mistakes: string[] = [];
  const say = (sentence: string): void => void mistakes.push(`${path}: ${sentence}`);
  const { models: written, ...others } = parse(text, say);
  for (const key of Object.keys(others)) say(`there is no setting named "${key}"`);
  const entries = Object.entries(tableOf(written) ?? {}).slice(0, mostModels + 1);
  if (entries.length > mostModels) say(`"models" must have at most ${mostModels} entries`);
  if (entries.length === 0 && mistakes.length === 0) say('"models" must name a model, as [models.name]');
  const models: RemoteModel[] = [];
  for (const [name, value] of entries) {
    const reader = new EntryReader(`models.${name}`, tableOf(value) ?? {}, say);
    const model = await readModel(name, reader, dirname(resolve(path)));
    if (model !== undefined) models.push({ ...model, modifiedAt });
  }
  const names = models.map(({ name }) => name.toLowerCase());
  if (new Set(names).size < names.length) say('"models" names the same model twice');
  if (mistakes.length > 0) throw new SettingsError(mistakes);
  return models;
}

async function open(path: string): Promise<{ readonly text: string; readonly modifiedAt: string }> {
  try {
    const { size, mtime } = await stat(path);
    if (size > mostBytes) throw new SettingsError([`${path}: must have at most ${mostBytes} bytes`]);
    return { text: await readFile(path, "utf8"), modifiedAt: mtime.toISOString() };
  } catch (problem) {
    if (problem instanceof SettingsError) throw problem;
    throw new SettingsError([`--engines-file names "${path}", which cannot be read`]);
  }
}

function parse(text: string, say: (sentence: string) => void): TomlTable {
  try {
    return parseToml(text);
  } catch (problem) {
    say(problem instanceof Error ? (problem.message.split("\n")[0] ?? "") : "cannot be read as TOML");
    return {};
  }
}

async function readModel(
  written: string,
  reader: EntryReader,
  folder: string,
): Promise<Omit<RemoteModel, "modifiedAt"> | undefined> {
  reader.refuseOthers(entryKeys);
  const name = readModelName(written);
  if (name === undefined) reader.say("", "is no name of a model, which is like model or model:tag");
  const dialect = reader.choice("dialect", dialects, "openai");
  const model = reader.text("model", { most: 512 });
  const engines = readEngines(reader);
  const contextTokens = reader.wholeNumber("context_tokens", { least: 64, most: mostContextTokens });
  const requestsPerEngine = reader.wholeNumber("requests_per_engine", { least: 1, most: mostRequests });
  const named = reader.choices("capabilities", capabilities);
  const key = await readKey(reader, folder);
  if (name === undefined || engines === undefined) return undefined;
  const plan: PoolPlan = {
    dialect,
    engines,
    requestsPerEngine: requestsPerEngine ?? usualRequests,
    canSeeImages: named.includes("vision"),
    ...(model === undefined ? {} : { model }),
    ...(contextTokens === undefined ? {} : { contextTokens }),
    ...(key === undefined ? {} : { key }),
  };
  const count = engines.type === "addresses" ? engines.addresses.length : undiscoveredEngines;
  return {
    name: displayModelName(name),
    digest: digestOf(reader.describe()),
    capabilities: capabilitiesOf(named),
    sequences: plan.requestsPerEngine * count,
    plan,
  };
}

/** A model that is said to embed, and nothing else, writes no text. */
function capabilitiesOf(named: readonly Capability[]): readonly Capability[] {
  const isEmbedder = named.length === 1 && named[0] === "embedding";
  return capabilities.filter((name) => named.includes(name) || (name === "completion" && !isEmbedder));
}

async function readKey(reader: EntryReader, folder: string): Promise<string | undefined> {
  const path = reader.text("key_file", { most: 4096 });
  if (path === undefined) return undefined;
  const text = await readFile(resolve(folder, path), "utf8").catch(() => undefined);
  const key = text?.trim();
  if (key !== undefined && /^[\u0021-\u007E]{1,1024}$/u.test(key)) return key;
  reader.say("key_file", "must name a file with a key of up to 1024 visible characters in one line");
  return undefined;
}
