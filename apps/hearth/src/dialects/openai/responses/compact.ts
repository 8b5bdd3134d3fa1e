import { type HttpResponse, jsonResponse } from "@hearth-and-keep/http-service";
import type { HearthRequest } from "../../../dependencies.ts";
import { invalidField } from "../../../failures.ts";
import { keepUserMessages, summarySealOf } from "./compaction.ts";
import { isTrigger, readInput } from "./load-items.ts";
import type { ResponsesDependencies } from "./prepare-response.ts";
import { drain, startResponse } from "./responses.ts";
import type { CompactRequest } from "./schema.ts";

/**
 * `POST /v1/responses/compact`: the messages of the user, and a summary of everything else that only this server can
 * read. The same as a response to an input that ends with `compaction_trigger`, in another form and never stored.
 */
export async function handleCompact(
  request: HearthRequest<CompactRequest>,
  dependencies: ResponsesDependencies,
): Promise<HttpResponse> {
  const { body, actor, signal, addLogFields, addResponseHeaders } = request;
  const sent = readInput({ input: body.input ?? [] });
  const input = isTrigger(sent.at(-1)) ? [...sent] : [...sent, { type: "compaction_trigger" }];
  const complete = {
    body: { ...body, input, store: false },
    actor,
    signal,
    addLogFields,
    addResponseHeaders,
  };
  const { writer, events, items } = await startResponse(complete, dependencies);
  await drain(events);
  const { id, created_at: createdAt, output, usage } = writer.response;
  const { open } = summarySealOf(dependencies.reasoningSeal, actor.keyName);
  const hasSummary = output.some(
    (item) => item.type === "compaction" && open(item.encrypted_content) !== undefined,
  );
  // Clients delete what they have compacted, and keep it after an error.
  if (!hasSummary) {
    throw invalidField("input", "cannot be compacted: the model wrote no summary; use another model");
  }
  return jsonResponse({
    id,
    object: "response.compaction",
    created_at: createdAt,
    output: [...keepUserMessages([...items.previous, ...items.own]), ...output],
    usage,
  });
}
