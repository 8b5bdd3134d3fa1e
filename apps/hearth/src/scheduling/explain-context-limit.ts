import type { ContextLimit } from "./context-window.ts";

/** What limits the context of a request and which setting allows more, for the end of a message; empty if unknown. */
export function explainContextLimit(limitedBy: ContextLimit | undefined): string {
  return limitedBy === undefined ? "" : ` (${explanations[limitedBy]})`;
}

const explanations: Readonly<Record<ContextLimit, string>> = {
  model: "the model was not trained on more",
  request: "set by num_ctx; a larger one allows more",
  setting: "set by --context-length of the server; num_ctx in the request allows more",
  engine: "the engine that runs the model has no more",
  memory: "no more fits into --memory-budget of the server",
};
