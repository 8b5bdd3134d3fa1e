import { type Answer, jsonAnswer } from "@hearth-and-keep/http-service";
import type { HearthCall, HearthParts } from "../../dependencies.ts";
import type { ModelSummary } from "../../models/metadata/describe-model.ts";
import type { RunningModel } from "../../scheduling/running-models.ts";
import { requireName } from "./resolve-model.ts";
import type { CopyBody, DeleteBody } from "./schema.ts";
import { digestNamed, unloadUnnamed } from "./unload-orphans.ts";
import { bareDigest, writeDetails } from "./write-model.ts";

export { answerShow } from "./show.ts";

/** How long answers of a deleted model may go on. */
const deleteGraceSeconds = 5;
/** Go's longest duration, which clients take for "for ever" in a date. */
const forEverMilliseconds = 2 ** 63 / 1e6;

export async function answerTags(_call: HearthCall, { models }: HearthParts): Promise<Answer> {
  const listing = await models.list();
  return jsonAnswer({ models: listing.models.map(writeListed) });
}

function writeListed(summary: ModelSummary) {
  const { name, modifiedAt, bytes, digest, trainedContextTokens, embeddingLength, capabilities } = summary;
  return {
    name,
    model: name,
    modified_at: modifiedAt,
    size: bytes,
    digest: bareDigest(digest),
    details: {
      ...writeDetails(summary.details),
      ...(trainedContextTokens === null ? {} : { context_length: trainedContextTokens }),
      ...(embeddingLength === null ? {} : { embedding_length: embeddingLength }),
    },
    capabilities,
  };
}

export async function answerPs(_call: HearthCall, { models, scheduler }: HearthParts): Promise<Answer> {
  const listing = await models.list();
  const byDigest = new Map<string, ModelSummary>();
  for (const summary of listing.models) {
    if (!byDigest.has(summary.digest)) byDigest.set(summary.digest, summary);
  }
  const running = scheduler.running().toSorted((one, other) => expiryOf(other) - expiryOf(one));
  return jsonAnswer({ models: running.map((each) => writeRunning(each, byDigest.get(each.key))) });
}

function expiryOf({ expiresAt }: RunningModel): number {
  return expiresAt === "never" ? Date.now() + forEverMilliseconds : expiresAt.getTime();
}

/** A model whose name was given to another since it was loaded still takes memory, so it is shown by its digest. */
function writeRunning(running: RunningModel, summary: ModelSummary | undefined) {
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
    context_length: running.contextTokens,
  };
}

export async function answerCopy(
  { body: { source, destination } }: HearthCall<CopyBody>,
  parts: HearthParts,
): Promise<Answer> {
  const before = await digestNamed(destination, parts);
  await parts.models.copy(source, destination);
  await unloadUnnamed(before, parts);
  return { status: 200 };
}

/** The name goes first, so that nobody loads the model again; then it leaves the memory, unless another name has it. */
export async function answerDelete(call: HearthCall<DeleteBody>, parts: HearthParts): Promise<Answer> {
  const name = requireName(call.body);
  const digest = await digestNamed(name, parts);
  await parts.models.remove(name);
  await unloadUnnamed(digest, parts, { graceSeconds: deleteGraceSeconds });
  return { status: 200 };
}
