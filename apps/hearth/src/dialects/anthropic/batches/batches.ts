/**
 * @module
 * Message batches: `POST /v1/messages` for many requests at once, in the background. Requests are stored as text and read
 * when they run; results are lines of JSON in the order of the requests.
 * Imported by `routes.ts`.
 */
import type { HttpResponse, StreamedResponse } from "@hearth-and-keep/http-service";
import type { Batch, BatchRequest, BatchResult } from "../../../batches/batch.ts";
import { createStoredId, routeCallFor, startBatch } from "../../../batches/batches.ts";
import type { HearthDependencies, HearthRequest } from "../../../dependencies.ts";
import { invalidField, requestFailure } from "../../../failures.ts";
import { requestIdHeader } from "../errors.ts";
import { respond } from "../respond.ts";
import { selectPage } from "../select-page.ts";
import type { CreateBatchBody } from "./schema.ts";
import { formatLine, writeBatch } from "./write-batch.ts";

type Dependencies = Pick<HearthDependencies, "batches" | "messageBatches">;

export function handleCreateBatch(
  request: HearthRequest<CreateBatchBody>,
  { batches, messageBatches }: Dependencies,
): HttpResponse {
  const { keyName } = request.actor;
  messageBatches.checkRoom(keyName);
  const batch = startBatch(
    {
      id: createStoredId("msgbatch_"),
      call: routeCallFor("/v1/messages", request),
      requests: readRequests(request.body),
      formatLine,
    },
    batches,
  );
  messageBatches.add(keyName, batch);
  return respond(writeBatch(batch), request);
}

function readRequests({ requests }: CreateBatchBody): readonly BatchRequest[] {
  const customIds = new Set<string>();
  return requests.map(({ custom_id: customId, params }, index) => {
    if (customIds.has(customId)) {
      throw invalidField(`requests.${index}.custom_id`, `is "${customId}", which another request has too`);
    }
    customIds.add(customId);
    const stored = Buffer.from(JSON.stringify(params));
    return { customId, bytes: stored.length, readBody: () => JSON.parse(stored.toString("utf8")) };
  });
}

export function handleListBatches(request: HearthRequest, { messageBatches }: Dependencies): HttpResponse {
  const all = messageBatches.list(request.actor.keyName);
  const page = selectPage(all, request.query);
  return respond({ ...page, data: page.data.map(writeBatch) }, request);
}

export function handleGetBatch(request: HearthRequest, dependencies: Dependencies): HttpResponse {
  return respond(writeBatch(findBatch(request, dependencies)), request);
}

export function handleCancelBatch(request: HearthRequest, dependencies: Dependencies): HttpResponse {
  const batch = findBatch(request, dependencies);
  if (batch.endedAt !== undefined)
    throw invalidField("id", `is "${batch.id}", a batch that has ended already`);
  batch.stop("canceled");
  return respond(writeBatch(batch), request);
}

export function handleDeleteBatch(request: HearthRequest, dependencies: Dependencies): HttpResponse {
  const batch = findBatch(request, dependencies);
  if (batch.endedAt === undefined) {
    throw invalidField("id", `is "${batch.id}", a batch that has not ended; cancel it first`);
  }
  dependencies.messageBatches.delete(request.actor.keyName, batch.id);
  return respond({ id: batch.id, type: "message_batch_deleted" }, request);
}

export function handleBatchResults(request: HearthRequest, dependencies: Dependencies): StreamedResponse {
  const batch = findBatch(request, dependencies);
  if (batch.endedAt === undefined) {
    throw invalidField("id", `is "${batch.id}", a batch that has not ended; its results are complete then`);
  }
  return {
    status: 200,
    headers: { "content-type": "application/x-jsonl", ...requestIdHeader(request) },
    chunks: writeLines(batch.results),
    keepAliveChunk: "",
    formatError: () => "",
  };
}

async function* writeLines(results: readonly BatchResult[]): AsyncGenerator<string> {
  for (const { line } of results) yield line.toString("utf8");
}

function findBatch({ actor, parameters }: HearthRequest, { messageBatches }: Dependencies): Batch {
  const id = parameters["id"] ?? "";
  const batch = messageBatches.find(actor.keyName, id);
  if (batch !== undefined) return batch;
  const reason = `with id "${id}" not found`;
  throw requestFailure({ kind: "stored-object-not-found", object: "batch", reason });
}
