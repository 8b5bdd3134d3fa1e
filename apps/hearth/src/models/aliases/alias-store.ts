/**
 * @module
 * Aliases: additional names for models, each with parameters of its own and a model to fall back to. They are in one
 * small file of our own store. An alias names models and never another alias, so that there are no cycles, and a model
 * takes precedence over an alias of the same name. A damaged file means no aliases and is never overwritten.
 * Imported by `dialects/ollama/`, `commands/serve.ts` and tests.
 */
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { FailureError } from "@hearth-and-keep/failures";
import type { Static } from "typebox";
import { Compile } from "typebox/compile";
import type { Catalog } from "../catalog.ts";
import type { ModelDescription, ModelSummary } from "../metadata/describe-model.ts";
import { readFileStamp } from "../metadata/file-stamp.ts";
import { type ParsedParameters, parameterNames, parseValidParameters } from "../metadata/model-parameters.ts";
import { modelFailure } from "../model-failure.ts";
import { displayModelName, parseModelName, tryParseModelName } from "../model-name.ts";
import { commitFile } from "../store/commit-file.ts";
import { type ModelStore, type ModelStores, writableStore } from "../store/model-store.ts";
import { parseJson } from "../store/parse-json.ts";
import { writeStagedContent } from "../store/staged-content.ts";
import { aliasesSchema, maxAliases, maxAliasFileBytes } from "./schema.ts";

type Alias = Static<typeof aliasesSchema>[number];

export type AliasStore = {
  list(): Promise<readonly Alias[]>;
  find(name: string): Promise<Alias | undefined>;
  /** Adds or replaces an alias. Returns why it is rejected; undefined when it is stored. */
  set(alias: Alias): Promise<Rejection | undefined>;
  /** Whether the alias existed. */
  remove(name: string): Promise<boolean>;
};

type Rejection = {
  readonly field: "name" | "model" | "fallback" | "parameters";
  readonly reason: string;
};

const fileName = "aliases.json";
const validator = Compile(aliasesSchema);

export function createAliasStore(stores: ModelStores): AliasStore {
  const [own] = stores;
  const path = join(own.root, fileName);
  let cached: { readonly stamp: string; readonly aliases: readonly Alias[] } | undefined;
  const list = async (): Promise<readonly Alias[]> => {
    const stamp = await readFileStamp(path).catch(() => "");
    if (cached?.stamp !== stamp) {
      cached = { stamp, aliases: stamp === "" ? [] : await readAliases(path).catch(() => []) };
    }
    return cached.aliases;
  };
  return {
    list,
    async find(name) {
      const aliases = await list();
      if (aliases.length === 0) return undefined;
      const key = keyOf(name);
      return key === undefined ? undefined : aliases.find((alias) => keyOf(alias.name) === key);
    },
    async set(alias) {
      const store = writableStore(stores);
      const invalid = checkAlias(alias);
      if (invalid !== undefined) return invalid;
      return store.runExclusive(async () => {
        const others = (await readExisting(path)).filter(({ name }) => keyOf(name) !== keyOf(alias.name));
        const conflict = findConflict(alias, others);
        if (conflict === undefined) await writeAliases(store, path, [...others, alias]);
        return conflict;
      });
    },
    remove(name) {
      const store = writableStore(stores);
      return store.runExclusive(async () => {
        const all = await readExisting(path);
        const remaining = all.filter((alias) => keyOf(alias.name) !== keyOf(name));
        if (remaining.length < all.length) await writeAliases(store, path, remaining);
        return remaining.length < all.length;
      });
    },
  };
}

/** Names are compared as those of models: without case, and with the default tag. */
function keyOf(name: string): string | undefined {
  const parsed = tryParseModelName(name);
  return parsed === undefined || parsed.digest !== null ? undefined : displayModelName(parsed).toLowerCase();
}

function checkAlias({ name, model, fallback, parameters }: Alias): Rejection | undefined {
  for (const each of [name, model, ...(fallback === undefined ? [] : [fallback])]) parseModelName(each);
  const reason = "must name another model";
  if (keyOf(name) === undefined) return { field: "name", reason: "must not contain a digest" };
  if (keyOf(model) === keyOf(name)) return { field: "model", reason };
  if (fallback !== undefined && keyOf(fallback) === keyOf(name)) return { field: "fallback", reason };
  const unknown = Object.keys(parameters).find((parameter) => !parameterNames.includes(parameter));
  if (unknown !== undefined) {
    throw modelFailure({ kind: "parameter-invalid", parameter: unknown, reason: "it is not a parameter" });
  }
  parseValidParameters(parameters);
  return undefined;
}

function findConflict({ name, model, fallback }: Alias, others: readonly Alias[]): Rejection | undefined {
  const reason = "must be a model, not an alias";
  const isAlias = (each: string): boolean => others.some((other) => keyOf(other.name) === keyOf(each));
  if (isAlias(model)) return { field: "model", reason };
  if (fallback !== undefined && isAlias(fallback)) return { field: "fallback", reason };
  const user = others.find((other) =>
    [other.model, other.fallback].some((each) => each !== undefined && keyOf(each) === keyOf(name)),
  );
  if (user !== undefined) return { field: "name", reason: `is the model of the alias "${user.name}"` };
  return others.length >= maxAliases
    ? { field: "name", reason: `exceeds the limit of ${maxAliases} aliases` }
    : undefined;
}

/** Reads at most one byte more than is allowed, and follows no link out of the store. */
async function readAliases(path: string): Promise<readonly Alias[]> {
  await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(maxAliasFileBytes + 1), position: 0 });
  return parseJson(buffer.subarray(0, bytesRead), validator);
}

/** The content before a change: no file means none, and a damaged one is left for a person to repair. */
async function readExisting(path: string): Promise<readonly Alias[]> {
  const stamp = await readFileStamp(path).catch(() => "");
  if (stamp === "") return [];
  try {
    return await readAliases(path);
  } catch (cause) {
    throw modelFailure({ kind: "manifest-invalid", model: fileName, reason: "it is damaged" }, { cause });
  }
}

async function writeAliases(store: ModelStore, path: string, aliases: readonly Alias[]): Promise<void> {
  const content = Buffer.from(`${JSON.stringify(aliases, null, 2)}\n`);
  await using staged = await writeStagedContent(store, [content]);
  await commitFile(staged.path, path);
}

/** Adds aliases to the models of a catalog; a model shadows an alias of the same name. */
export function withAliases(catalog: Catalog, aliases: AliasStore): Catalog {
  const resolve = async (name: string): Promise<Resolved> => {
    const alias = await aliases.find(name);
    if (alias === undefined) return { target: name };
    for (const candidate of [name, alias.model]) {
      const model = await describeIfFound(catalog, candidate);
      if (model !== undefined) return { target: candidate, ...(candidate !== name && { alias, model }) };
    }
    return { target: alias.fallback ?? alias.model, alias };
  };
  return {
    ...catalog,
    async list() {
      const [listing, all] = [await catalog.list(), await aliases.list()];
      return { ...listing, models: [...listing.models, ...summarizeAliases(all, listing.models)] };
    },
    async describe(name) {
      const { target, alias, model = await catalog.describe(target) } = await resolve(name);
      return alias === undefined ? model : describeAlias(alias, model);
    },
    inspect: async (name) => catalog.inspect((await resolve(name)).target),
    inspectProjector: async (name) => catalog.inspectProjector((await resolve(name)).target),
  };
}

type Resolved = {
  /** A name that the catalog itself knows, unless there is no such model. */
  readonly target: string;
  /** Set when the name is that of an alias. */
  readonly alias?: Alias;
  readonly model?: ModelDescription;
};

async function describeIfFound(catalog: Catalog, name: string): Promise<ModelDescription | undefined> {
  try {
    return await catalog.describe(name);
  } catch (error) {
    if (error instanceof FailureError && isNotFound(error.failure)) return undefined;
    throw error;
  }
}

function isNotFound(failure: unknown): boolean {
  return (
    typeof failure === "object" && failure !== null && "kind" in failure && failure.kind === "model-not-found"
  );
}

function describeAlias(alias: Alias, model: ModelDescription): ModelDescription {
  const parameters = mergeParameters(model.parameters, parseValidParameters(alias.parameters));
  return {
    ...model,
    name: alias.name,
    aliasOf: model.name,
    parameters,
    ownContextTokens: parameters.values.contextTokens,
  };
}

function mergeParameters(model: ParsedParameters, alias: ParsedParameters): ParsedParameters {
  const entries = new Map([...model.entries, ...alias.entries]);
  return {
    values: { ...model.values, ...alias.values },
    entries: [...entries].toSorted(([one], [other]) => (one < other ? -1 : 1)),
    rejected: model.rejected,
  };
}

/** Aliases whose model or fallback exists, after the models. */
function summarizeAliases(
  aliases: readonly Alias[],
  models: readonly ModelSummary[],
): readonly ModelSummary[] {
  const byName = new Map(models.map((model) => [model.name.toLowerCase(), model]));
  const find = (name: string | undefined): ModelSummary | undefined => byName.get(keyOf(name ?? "") ?? "");
  return aliases
    .filter(({ name }) => find(name) === undefined)
    .flatMap(({ name, model, fallback, parameters }) => {
      const target = find(model) ?? find(fallback);
      if (target === undefined) return [];
      const { contextTokens = target.ownContextTokens } = parseValidParameters(parameters).values;
      return [{ ...target, name, aliasOf: target.name, ownContextTokens: contextTokens }];
    });
}
