import { FailureError } from "@hearth-and-keep/failures";
import { type DescribeParts, type ModelSummary, summarizeModel } from "./metadata/describe-model.ts";
import { markFile } from "./metadata/file-stamp.ts";
import type { LeastRecentlyUsed } from "./metadata/least-recently-used.ts";
import { readStoredModel } from "./metadata/stored-model.ts";
import { displayModelName } from "./model-name.ts";
import { type ManifestPlace, walkManifests } from "./store/manifest-tree.ts";

export type ModelListing = {
  /** The newest first, by whole seconds; then by name. */
  readonly models: readonly ModelSummary[];
  readonly problems: readonly ListingProblem[];
};

/** Something in a store that could not be listed, or is listed although it cannot be run. */
type ListingProblem = { readonly name: string; readonly reason: string };

export type ListParts = DescribeParts & { readonly summaries: LeastRecentlyUsed<ModelSummary> };

const mostProblems = 100;

export async function listModels(parts: ListParts): Promise<ModelListing> {
  const trees = await Promise.all(parts.stores.map(walkManifests));
  const places = firstOfEachName(trees.flatMap((tree) => tree.places));
  const listed = await Promise.all(places.map((place) => listModel(place, parts)));
  const strangers = trees.flatMap((tree) => tree.strangers);
  const problems = [
    ...trees.flatMap(({ isCut }) =>
      isCut ? [{ name: "", reason: "the store has more models than are listed" }] : [],
    ),
    ...listed.flatMap(({ problem }) => (problem === undefined ? [] : [problem])),
    ...strangers.map((name) => ({ name, reason: "it is not where a manifest lies" })),
  ];
  return {
    models: listed.flatMap(({ summary }) => (summary === undefined ? [] : [summary])).toSorted(compare),
    problems: problems.slice(0, mostProblems),
  };
}

/** Stores come in the order in which their names win. */
function firstOfEachName(places: readonly ManifestPlace[]): readonly ManifestPlace[] {
  const byName = new Map<string, ManifestPlace>();
  for (const place of places) {
    const key = displayModelName(place.name).toLowerCase();
    if (!byName.has(key)) byName.set(key, place);
  }
  return [...byName.values()];
}

type Listed = { readonly summary?: ModelSummary; readonly problem?: ListingProblem };

/** Remembered for as long as the manifest stays the same; what has a problem is looked at again. */
async function listModel(place: ManifestPlace, parts: ListParts): Promise<Listed> {
  const name = displayModelName(place.name);
  try {
    const key = `${place.path}@${await markFile(place.path)}`;
    const known = parts.summaries.get(key);
    if (known !== undefined) return { summary: known };
    const { summary, problem } = await summarizeModel(await readStoredModel(place), parts);
    if (problem !== undefined) return { summary, problem: { name, reason: explain(problem) } };
    parts.summaries.set(key, summary);
    return { summary };
  } catch (problem) {
    return { problem: { name, reason: explain(problem) } };
  }
}

function explain(problem: unknown): string {
  if (!(problem instanceof FailureError)) return "it cannot be read";
  const { kind, reason } = problem.failure as { kind: string; reason?: string }; // Some of our failures say more than their kind.
  return reason ?? kind;
}

function compare(one: ModelSummary, other: ModelSummary): number {
  const [second, otherSecond] = [toSecond(one), toSecond(other)];
  if (second !== otherSecond) return second > otherSecond ? -1 : 1;
  return one.name < other.name ? -1 : 1;
}

/** Times in UTC sort as texts. */
function toSecond({ modifiedAt }: ModelSummary): string {
  return modifiedAt.slice(0, "2026-01-01T00:00:00".length);
}
