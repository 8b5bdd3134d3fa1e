import type {
  Conversation,
  EmbedRequest,
  EngineDescription,
  EngineEvent,
  EngineFailure,
  EngineRequest,
  LoadPlan,
} from "@hearth-and-keep/engine";

/** Messages from the server to a worker. Each call has its own id, which its responses repeat. */
export type ToWorker =
  | {
      readonly type: "load";
      readonly plan: LoadPlan;
      /** A build of the binding made on this machine, used instead of the prebuilt one. */
      readonly buildFolder?: string | undefined;
    }
  | { readonly type: "generate"; readonly id: number; readonly request: EngineRequest }
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

/** Messages from a worker to the server. `heartbeat` is sent as long as the event loop is not blocked. */
export type FromWorker =
  | { readonly type: "load-progress"; readonly fraction: number }
  | { readonly type: "loaded"; readonly description: EngineDescription }
  | { readonly type: "load-failed"; readonly failure: EngineFailure }
  | { readonly type: "events"; readonly id: number; readonly events: readonly EngineEvent[] }
  | { readonly type: "result"; readonly id: number; readonly value: unknown }
  | { readonly type: "failure"; readonly id: number; readonly failure: EngineFailure }
  /** An unexpected error; its text goes to the server's log only. */
  | { readonly type: "error"; readonly id: number; readonly reason: string }
  | Heartbeat;

type Heartbeat = {
  readonly type: "heartbeat";
  /** The current number of threads; undefined while the model is loading. */
  readonly threads: number | undefined;
  /** How long native code has been sampling the current token: with some grammars it never finishes. */
  readonly samplingSeconds: number;
};

export const heartbeatSeconds = 1;
