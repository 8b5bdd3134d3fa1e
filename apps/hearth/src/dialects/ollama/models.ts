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
  const running = scheduler.running().toSorted((one, other) => expiryOf(other) - expiryOf(one));
  return jsonResponse({
    models: running.map((each) => {
      const summary = byDigest.get(each.key);
      const contextTokens = summary === undefined ? null : effectiveContextTokens(summary, scheduler);
      return writeRunning(each, { summary, contextTokens });
    }),
  });
}

function expiryOf({ expiresAt }: RunningModel): number {
  return expiresAt === "never" ? Date.now() + foreverMilliseconds : expiresAt.getTime();
}

/** A loaded model whose name now points to another one still uses memory, so it is shown by its digest. */
function writeRunning(
  running: RunningModel,
  {
    summary,
    contextTokens,
  }: { readonly summary: ModelSummary | undefined; readonly contextTokens: number | null },
) {
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
    // Ollama does not have the following; JSON leaves the second out for models on other machines.
    loaded_context_length: running.contextTokens,
    protection: running.description.protection,
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
