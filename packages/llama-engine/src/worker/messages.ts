import type {
  Conversation,
  EmbedRequest,
  EngineDescription,
  EngineEvent,
  EngineFailure,
  GenerateRequest,
  LoadPlan,
} from "@hearth-and-keep/engine";

/** What the server says to a worker. Each call has an id of its own; its answers carry it. */
export type ToWorker =
  | {
      readonly type: "load";
      readonly plan: LoadPlan;
      /** A build of the binding made on this machine, to be used instead of the one that came with it. */
      readonly buildFolder?: string | undefined;
    }
  | { readonly type: "generate"; readonly id: number; readonly request: GenerateRequest }
  | { readonly type: "abort"; readonly id: number }
  | { readonly type: "embed"; readonly id: number; readonly request: EmbedRequest }
  | {
      readonly type: "rank";
      readonly id: number;
      readonly query: string;
      readonly documents: readonly string[];
    }
  | { readonly type: "tokenize"; readonly id: number; readonly text: string }
  | { readonly type: "render"; readonly id: number; readonly conversation: Conversation }
  | { readonly type: "count"; readonly id: number; readonly conversation: Conversation };

/** What a worker says to the server. `heartbeat` comes while its event loop turns, whatever else it does. */
export type FromWorker =
  | { readonly type: "load-progress"; readonly share: number }
  | { readonly type: "loaded"; readonly description: EngineDescription }
  | { readonly type: "load-failed"; readonly failure: EngineFailure }
  | { readonly type: "events"; readonly id: number; readonly events: readonly EngineEvent[] }
  | { readonly type: "answer"; readonly id: number; readonly value: unknown }
  | { readonly type: "failed"; readonly id: number; readonly failure: EngineFailure }
  /** Something that should not happen; the text stays in the server's log. */
  | { readonly type: "broken"; readonly id: number; readonly reason: string }
  | Heartbeat;

type Heartbeat = {
  readonly type: "heartbeat";
  /** How many threads compute now; undefined while the model is being loaded. */
  readonly threads: number | undefined;
  /** How long native code has been choosing the present token: a grammar can make that take for ever. */
  readonly choosingSeconds: number;
};

export const heartbeatSeconds = 1;
