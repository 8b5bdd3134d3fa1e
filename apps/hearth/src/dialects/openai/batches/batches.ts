/**
 * @module
 * `/v1/batches`: an uploaded file of requests, which run in the background. Their answers are lines of an output file, and
 * those of failed requests of an error file.
 * Imported by `routes.ts`.
 */
import { type HttpResponse, jsonResponse } from "@hearth-and-keep/http-service";
import { createStoredId, routeCallFor, startBatch } from "../../../batches/batches.ts";
import type { StoredFile } from "../../../batches/stored-file.ts";
import type { HearthDependencies, HearthRequest } from "../../../dependencies.ts";
import { invalidField, requestFailure, toRequestFailure } from "../../../failures.ts";
import { listPage } from "../list-page.ts";
import { OpenAIBatch } from "./openai-batch.ts";
import { readLines } from "./read-lines.ts";
import type { BatchListQuery, CreateBatchBody } from "./schema.ts";
import { formatLine, writeBatch } from "./write-batch.ts";
import { writeOutputFiles } from "./write-output-files.ts";

type Dependencies = Pick<HearthDependencies, "batches" | "openaiBatches" | "files">;

const pageLimits = { defaultLimit: 20, maxLimit: 100 };

/** Answers at once; the file is read afterwards. */
export function handleCreateBatch(
  request: HearthRequest<CreateBatchBody>,
  dependencies: Dependencies,
): HttpResponse {
  const { body, actor } = request;
  const { batches, openaiBatches, files } = dependencies;
  const file = files.find(actor.keyName, body.input_file_id);
  if (file === undefined) throw fileNotFound(body.input_file_id);
  if (file.purpose !== "batch") {
    throw invalidField(
      "input_file_id",
      `is a file with the purpose "${file.purpose}"; upload it with "batch"`,
    );
  }
  openaiBatches.makeRoom(actor.keyName);
  const batch = new OpenAIBatch({ ...batches.limits, id: createStoredId("batch_"), body });
  openaiBatches.add(actor.keyName, batch);
  const response = jsonResponse(writeBatch(batch));
  void runBatch(batch, { request, file }, dependencies);
  return response;
}

function fileNotFound(id: string): Error {
  const reason = `with id "${id}" not found`;
  return requestFailure({ kind: "stored-object-not-found", object: "file", field: "input_file_id", reason });
}

type Source = { readonly request: HearthRequest<CreateBatchBody>; readonly file: StoredFile };

/** From the file of the requests to the files of the results. */
async function runBatch(
  batch: OpenAIBatch,
  { request, file }: Source,
  dependencies: Dependencies,
): Promise<void> {
  const { endpoint, output_expires_after: expiry } = batch.body;
  const { batches } = dependencies;
  const read = await readLines(file.content, endpoint);
  if (read.type === "error") {
    batch.fail(read.error);
    return;
  }
  try {
    const call = routeCallFor(endpoint, request);
    const running = startBatch({ id: batch.id, call, requests: read.requests, formatLine }, batches);
    batch.start(running);
    await running.ended;
    batch.finalize();
    const lifetimeSeconds = expiry?.seconds ?? batches.limits.retentionSeconds;
    batch.finish(writeOutputFiles(running, lifetimeSeconds, dependencies));
  } catch (error) {
    const failure = toRequestFailure(error);
    const message = failure.kind === "batch-storage-full" ? failure.reason : "the batch cannot be run";
    batch.fail({ code: "storage_limit_exceeded", message, param: null, line: null });
  }
}

export function handleListBatches(
  { actor, query }: Pick<HearthRequest, "actor"> & { readonly query: BatchListQuery },
  { openaiBatches }: Dependencies,
): HttpResponse {
  const page = listPage(openaiBatches.list(actor.keyName), query, pageLimits);
  return jsonResponse({ ...page, data: page.data.map(writeBatch) });
}

export function handleGetBatch(request: HearthRequest, dependencies: Dependencies): HttpResponse {
  return jsonResponse(writeBatch(findBatch(request, dependencies)));
}

export function handleCancelBatch(request: HearthRequest, dependencies: Dependencies): HttpResponse {
  const batch = findBatch(request, dependencies);
  const { status } = batch;
  if (!batch.cancel()) throw invalidField("id", `is "${batch.id}", a batch with the status "${status}"`);
  return jsonResponse(writeBatch(batch));
}

function findBatch({ actor, parameters }: HearthRequest, { openaiBatches }: Dependencies): OpenAIBatch {
  const id = parameters["id"] ?? "";
  const batch = openaiBatches.find(actor.keyName, id);
  if (batch !== undefined) return batch;
  const reason = `with id "${id}" not found`;
  throw requestFailure({ kind: "stored-object-not-found", object: "batch", reason });
}
