import { type HttpResponse, jsonResponse } from "@hearth-and-keep/http-service";
import type { HearthDependencies, HearthRequest } from "../../dependencies.ts";
import type { ModelSummary } from "../../models/metadata/describe-model.ts";
import { bareDigest } from "../../models/store/digest.ts";
import { effectiveContextTokens } from "../../scheduling/load-request.ts";
import type { RunningModel } from "../../scheduling/running-models.ts";
import { requireName } from "./resolve-model.ts";
import type { CopyBody, DeleteBody } from "./schema.ts";
import { digestOfName, unloadOrphan } from "./unload-orphans.ts";
import { writeDetails } from "./write-model.ts";

export { handleShow } from "./show.ts";

/** How long running generations of a deleted model may continue. */
const deleteGraceSeconds = 5;
/** Go's longest duration, which clients show as "forever". */
const foreverMilliseconds = 2 ** 63 / 1e6;

export async function handleTags(
  _request: HearthRequest,
  { models, scheduler }: HearthDependencies,
): Promise<HttpResponse> {
  const listing = await models.list();
  return jsonResponse({
    models: listing.models.map((model) => writeSummary(model, effectiveContextTokens(model, scheduler))),
  });
}

function writeSummary(summary: ModelSummary, contextTokens: number | null) {
  const { name, modifiedAt, bytes, digest, embeddingLength, capabilities } = summary;
  return {
    name,
    model: name,
    modified_at: modifiedAt,
    size: bytes,
    digest: bareDigest(digest),
    details: {
      ...writeDetails(summary.details),
      ...(contextTokens === null ? {} : { context_length: contextTokens }),
      ...(embeddingLength === null ? {} : { embedding_length: embeddingLength }),
    },
    capabilities,
    // Ollama does not have it; absent for a model that runs on this machine.
    ...(summary.remote === undefined ? {} : { runs_on: summary.remote.location }),
  };
}

export async function handlePs(
  _request: HearthRequest,
  { models, scheduler }: HearthDependencies,
): Promise<HttpResponse> {
  const listing = await models.list();
  const byDigest = new Map<string, ModelSummary>();
  for (const summary of listing.models) {
    if (!byDigest.has(summary.digest)) byDigest.set(summary.digest, summary);
  }
  const running = scheduler.running().flatMap((load) => load.users.map((user) => ({ ...load, ...user })));
  const nameOf = (key: string): string => byDigest.get(key)?.name ?? bareDigest(key).slice(0, 12);
  return jsonResponse({
    models: running
      .toSorted((one, other) => expiryOf(other) - expiryOf(one))
      .map((each) => {
        const summary = byDigest.get(each.key);
        const contextTokens = summary === undefined ? null : effectiveContextTokens(summary, scheduler);
        const others = each.users.filter(({ key }) => key !== each.key).map(({ key }) => nameOf(key));
        return writeRunning(each, { summary, contextTokens, others });
      }),
  });
}

function expiryOf({ expiresAt }: Pick<RunningModel, "expiresAt">): number {
  return expiresAt === "never" ? Date.now() + foreverMilliseconds : expiresAt.getTime();
}

type RunningSummary = {
  readonly summary: ModelSummary | undefined;
  readonly contextTokens: number | null;
  /** The names of other models that use the same load. */
  readonly others: readonly string[];
};

/** A loaded model whose name now points to another one still uses memory, so it is shown by its digest. */
function writeRunning(running: RunningModel, { summary, contextTokens, others }: RunningSummary) {
  const digest = bareDigest(running.key);
  const name = summary?.name ?? digest.slice(0, 12);
  return {
    name,
    model: name,
    size: running.memoryBytes,
    digest,
    details: writeDetails(summary?.details),
    expires_at: new Date(expiryOf(running)).toISOString(),
    size_vram: running.gpuBytes,
    context_length: contextTokens ?? running.contextTokens,
    // Ollama does not have the following; JSON leaves out what is unknown for models on other machines.
    loaded_context_length: running.contextTokens,
    protection: running.description.protection,
    size_weights: running.breakdown.weightBytes,
    size_cache: running.breakdown.cacheBytes,
    size_resident: running.description.measuredMemory?.residentBytes,
    size_peak: running.description.measuredMemory?.peakBytes,
    ...(others.length === 0 ? {} : { shares_memory_with: others }),
    // Why it runs on the CPU although a GPU was to be used.
    gpu_failure: running.description.gpuFailure,
  };
}

export async function handleCopy(
  { body: { source, destination } }: HearthRequest<CopyBody>,
  dependencies: HearthDependencies,
): Promise<HttpResponse> {
  const previousDigest = await digestOfName(destination, dependencies);
  await dependencies.models.copy(source, destination);
  await unloadOrphan(previousDigest, dependencies);
  return { status: 200 };
}

/** Deletes the name first, so that no request loads the model again, and then unloads the model if it is orphaned. */
export async function handleDelete(
  request: HearthRequest<DeleteBody>,
  dependencies: HearthDependencies,
): Promise<HttpResponse> {
  const name = requireName(request.body);
  const digest = await digestOfName(name, dependencies);
  await dependencies.models.remove(name);
  await unloadOrphan(digest, dependencies, { graceSeconds: deleteGraceSeconds });
  return { status: 200 };
}
