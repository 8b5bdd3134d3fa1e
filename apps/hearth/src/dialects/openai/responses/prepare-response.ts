import type { HearthDependencies, HearthRequest } from "../../../dependencies.ts";
import type { GenerationRequest } from "../../../generation/request.ts";
import { reportIgnored } from "../../../ignored-header.ts";
import { readImages } from "../../../images/read-images.ts";
import { requireCapability, resolveModel } from "../resolve-model.ts";
import { appendSummaryRequest, summarySealOf, toSummaryBody } from "./compaction.ts";
import { historyImageSources } from "./history-images.ts";
import { type LoadedItems, loadItems } from "./load-items.ts";
import { introducedTools, newestImageSources, readItems, repeatedContents } from "./read-items.ts";
import { readPdfFiles } from "./read-pdf-files.ts";
import { type ReadRequestOptions, readRequest } from "./read-request.ts";
import type { ResponseStore } from "./response-store.ts";
import type { ResponsesRequest } from "./schema.ts";
import type { KeyRecords } from "./stored-record.ts";
import { readTools, type ToolSet } from "./tool-names.ts";

/** Without a response store, responses are not stored and cannot be continued. */
export type ResponsesDependencies = Pick<
  HearthDependencies,
  "models" | "scheduler" | "metrics" | "fetchImage" | "reasoningSeal" | "readPdf"
> & {
  readonly responses?: ResponseStore;
};

export type ResponsesHttpRequest = Pick<
  HearthRequest<ResponsesRequest>,
  "body" | "actor" | "signal" | "addLogFields" | "addResponseHeaders"
>;

export type PreparedResponse = {
  readonly generation: GenerationRequest;
  readonly items: LoadedItems;
  readonly toolSet: ToolSet;
  /** What the key has stored. */
  readonly records: KeyRecords | undefined;
};

/** Validates the whole request and reads its prompt. Shared by responses and token counts, so that a count is exact. */
export async function prepareResponse(
  request: ResponsesHttpRequest,
  dependencies: ResponsesDependencies,
): Promise<PreparedResponse> {
  const { body, actor, signal } = request;
  const { fetchImage, readPdf, reasoningSeal } = dependencies;
  const model = await resolveModel(request, dependencies, "completion");
  const records = dependencies.responses?.forKey(actor.keyName);
  const items = loadItems(body, records);
  const { initial, later } = introducedTools(items);
  const toolSet = readTools([...(body.tools ?? []), ...initial], later);
  const sources = newestImageSources(items);
  if (sources.length > 0) requireCapability(model, body.model, "vision");
  const canSee = model.capabilities.includes("vision");
  const optional = canSee ? historyImageSources(repeatedContents(items)) : [];
  const images = await readImages(sources, { signal, fetchImage, optional });
  const { messages, skippedItems } = readItems(await readPdfFiles(items, { readPdf, signal }), {
    images,
    openReasoning: (sealed) => reasoningSeal.open(actor.keyName, sealed),
    openSummary: summarySealOf(reasoningSeal, actor.keyName).open,
  });
  reportIgnored(request, { tools: toolSet.droppedTools, blocks: skippedItems });
  const options = { model, messages, toolSet, actor };
  const generation = items.isCompaction ? readSummaryRequest(body, options) : readRequest(body, options);
  return { generation, items, toolSet, records };
}

/** Of a conversation that exceeds the context, the oldest messages are not summarized. */
function readSummaryRequest(body: ResponsesRequest, options: ReadRequestOptions): GenerationRequest {
  const messages = appendSummaryRequest(options.messages);
  const request = readRequest(toSummaryBody(body), { ...options, messages, toolSet: readTools([]) });
  return { ...request, overflow: "leave-room" };
}
