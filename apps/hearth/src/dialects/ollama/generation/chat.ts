import type { HttpResponse } from "@hearth-and-keep/http-service";
import type { HearthDependencies, HearthRequest } from "../../../dependencies.ts";
import { requireCapability, requireName, resolveModel } from "../resolve-model.ts";
import type { ChatBody } from "../schema.ts";
import { handleLoadOnly } from "./load-only.ts";
import { readChatRequest } from "./read-request.ts";
import type { OutputChunk } from "./stream-events.ts";
import { writeResponse } from "./write-response.ts";

export async function handleChat(
  request: HearthRequest<ChatBody>,
  dependencies: HearthDependencies,
): Promise<HttpResponse> {
  const { body } = request;
  const resolved = await resolveModel(dependencies.models, requireName(body));
  const checkCapability = (): void => requireCapability(resolved, "completion", "chat");
  if ((body.messages ?? []).length === 0) {
    const emptyOutput = { message: { role: "assistant", content: "" } };
    return handleLoadOnly(request, resolved, { ...dependencies, emptyOutput, checkCapability });
  }
  checkCapability();
  return writeResponse(request, dependencies, {
    requestedName: resolved.requestedName,
    generation: await readChatRequest(request, resolved),
    isStreamed: body.stream !== false,
    writeOutput: (chunk) => ({ message: writeMessage(chunk) }),
  });
}

function writeMessage({ text, thinking, toolCalls }: OutputChunk) {
  return {
    role: "assistant",
    content: text,
    ...(thinking === "" ? {} : { thinking }),
    ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
  };
}
