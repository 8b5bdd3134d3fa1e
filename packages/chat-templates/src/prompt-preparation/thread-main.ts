import { parentPort, workerData } from "node:worker_threads";
import type { EngineFailure } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import type { PreparationOptions } from "./preparation-thread.ts";
import { createTemplateParser, grammarFor, renderConversation, tryChatTemplate } from "./prepare-input.ts";
import type { PreparationRequest, PreparationResponse } from "./thread-messages.ts";

// PreparationThread passes exactly these options.
const { templates, specialTokens } = workerData as PreparationOptions;
const chatTemplate = createTemplateParser(templates);

function prepare(request: PreparationRequest): unknown {
  switch (request.type) {
    case "start":
      return undefined;
    case "capabilities": {
      const template = tryChatTemplate(chatTemplate);
      if (template === undefined) return undefined;
      return { template: template.capabilities, fillsIn: template.renderInsert !== undefined };
    }
    case "render":
      return renderConversation(chatTemplate, request.conversation, specialTokens);
    case "insert":
      return tryChatTemplate(chatTemplate)?.renderInsert?.(request, new Date());
    case "grammar":
      return grammarFor(request.constraint);
  }
}

function respond(request: PreparationRequest): PreparationResponse {
  try {
    return { value: prepare(request) };
  } catch (error) {
    // Every FailureError of this thread carries a failure of the engine port.
    if (error instanceof FailureError) return { failure: error.failure as EngineFailure };
    return { defect: error instanceof Error ? (error.stack ?? "") : String(error) };
  }
}

parentPort?.on("message", (request: PreparationRequest) => parentPort?.postMessage(respond(request), []));
