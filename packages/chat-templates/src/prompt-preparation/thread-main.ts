import { parentPort, workerData } from "node:worker_threads";
import type { EngineFailure } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import { grammarFor, renderConversation, templateIfSound, templateReader } from "./prepare-input.ts";
import type { PreparingPlan } from "./preparation-thread.ts";
import type { Preparation, Prepared } from "./thread-messages.ts";

// Who starts the thread gives it exactly this.
const { templates, specialTokens } = workerData as PreparingPlan;
const chatTemplate = templateReader(templates);

function prepare(preparation: Preparation): unknown {
  switch (preparation.type) {
    case "start":
      return undefined;
    case "abilities": {
      const template = templateIfSound(chatTemplate);
      if (template === undefined) return undefined;
      return { template: template.abilities, fillsIn: template.renderInsert !== undefined };
    }
    case "render":
      return renderConversation(chatTemplate, preparation.conversation, specialTokens);
    case "insert":
      return templateIfSound(chatTemplate)?.renderInsert?.(preparation, new Date());
    case "grammar":
      return grammarFor(preparation.constraint);
  }
}

function answer(preparation: Preparation): Prepared {
  try {
    return { value: prepare(preparation) };
  } catch (problem) {
    // Everything this thread throws in a FailureError is of the port's union.
    if (problem instanceof FailureError) return { failure: problem.failure as EngineFailure };
    return { defect: problem instanceof Error ? (problem.stack ?? "") : String(problem) };
  }
}

parentPort?.on("message", (preparation: Preparation) => parentPort?.postMessage(answer(preparation), []));
