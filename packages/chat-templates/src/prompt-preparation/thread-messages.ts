import type { Conversation, EngineFailure, OutputConstraint } from "@hearth-and-keep/engine";

/** Requests to a preparation thread, sent one at a time. */
export type PreparationRequest =
  /** Its response shows that the thread has started. */
  | { readonly type: "start" }
  | { readonly type: "capabilities" }
  | { readonly type: "render"; readonly conversation: Conversation }
  | { readonly type: "insert"; readonly prefix: string; readonly suffix: string }
  | { readonly type: "grammar"; readonly constraint: OutputConstraint };

export type PreparationResponse =
  | { readonly value: unknown }
  | { readonly failure: EngineFailure }
  /** An unexpected error; its text goes to the server's log only. */
  | { readonly defect: string };
