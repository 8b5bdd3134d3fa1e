import { FailureError } from "@hearth-and-keep/failures";
import type { LRUCache } from "lru-cache";
import { type DescribeDependencies, type ModelSummary, summarizeModel } from "./metadata/describe-model.ts";
import { readFileStamp } from "./metadata/file-stamp.ts";
import { readStoredModel } from "./metadata/stored-model.ts";
import { displayModelName } from "./model-name.ts";
import { type ManifestLocation, walkManifests } from "./store/manifest-tree.ts";

export type ModelListing = {
  /** Newest first, to the second; then by name. */
  readonly models: readonly ModelSummary[];
  readonly errors: readonly ListingError[];
};

/** A manifest that could not be listed, or a listed model that cannot be run. */
type ListingError = { readonly name: string; readonly reason: string };

export type ListDependencies = DescribeDependencies & { readonly summaries: LRUCache<string, ModelSummary> };

const maxErrors = 100;

export async function listModels(dependencies: ListDependencies): Promise<ModelListing> {
  const trees = await Promise.all(dependencies.stores.map(walkManifests));
  const locations = firstOfEachName(trees.flatMap((tree) => tree.locations));
  const listed = await Promise.all(locations.map((location) => listModel(location, dependencies)));
  const unexpectedPaths = trees.flatMap((tree) => tree.unexpectedPaths);
  const errors = [
    ...trees.flatMap(({ isIncomplete }) =>
      isIncomplete ? [{ name: "", reason: "the list is incomplete: some manifests could not be read" }] : [],
    ),
    ...listed.flatMap(({ error }) => (error === undefined ? [] : [error])),
    ...unexpectedPaths.map((name) => ({ name, reason: "its path is not a model name" })),
  ];
  return {
    models: listed.flatMap(({ summary }) => (summary === undefined ? [] : [summary])).toSorted(compare),
    errors: errors.slice(0, maxErrors),
  };
}

/** Stores come in order of precedence. */
function firstOfEachName(locations: readonly ManifestLocation[]): readonly ManifestLocation[] {
  const byName = new Map<string, ManifestLocation>();
  for (const location of locations) {
    const key = displayModelName(location.name).toLowerCase();
    if (!byName.has(key)) byName.set(key, location);
  }
  return [...byName.values()];
}

type ListedModel = { readonly summary?: ModelSummary; readonly error?: ListingError };

/** Summaries are cached until the manifest changes; models with an error are read again each time. */
async function listModel(location: ManifestLocation, dependencies: ListDependencies): Promise<ListedModel> {
  const name = displayModelName(location.name);
  try {
    const key = `${location.path}@${await readFileStamp(location.path)}`;
    const cached = dependencies.summaries.get(key);
    if (cached !== undefined) return { summary: cached };
    const { summary, error } = await summarizeModel(await readStoredModel(location), dependencies);
    if (error !== undefined) return { summary, error: { name, reason: reasonOf(error) } };
    dependencies.summaries.set(key, summary);
    return { summary };
  } catch (error) {
    return { error: { name, reason: reasonOf(error) } };
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof FailureError)) return "it cannot be read";
  const { kind, reason } = error.failure as { kind: string; reason?: string }; // Some kinds of failures have a reason.
  return reason ?? kind;
}

function compare(one: ModelSummary, other: ModelSummary): number {
  const [second, otherSecond] = [toSecond(one), toSecond(other)];
  if (second !== otherSecond) return second > otherSecond ? -1 : 1;
  return one.name < other.name ? -1 : 1;
}

/** UTC timestamps sort correctly as strings. */
function toSecond({ modifiedAt }: ModelSummary): string {
  return modifiedAt.slice(0, "2026-01-01T00:00:00".length);
}
