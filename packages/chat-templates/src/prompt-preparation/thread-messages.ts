import type { Conversation, EngineFailure, OutputConstraint } from "@hearth-and-keep/engine";

/** What the server asks of a preparing thread, one at a time. */
export type Preparation =
  /** Answered when the thread has read its own program. */
  | { readonly type: "start" }
  | { readonly type: "abilities" }
  | { readonly type: "render"; readonly conversation: Conversation }
  | { readonly type: "insert"; readonly prefix: string; readonly suffix: string }
  | { readonly type: "grammar"; readonly constraint: OutputConstraint };

export type Prepared =
  | { readonly value: unknown }
  | { readonly failure: EngineFailure }
  /** Something that should not happen; the text stays in the server's log. */
  | { readonly defect: string };
