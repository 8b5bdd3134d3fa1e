import type {
  Conversation,
  EmbedRequest,
  EngineDescription,
  EngineEvent,
  EngineFailure,
  EngineRequest,
  LoadPlan,
  MeasuredMemory,
} from "@hearth-and-keep/engine";

/** The binding's packages for a GPU, installed beside those that it comes with. */
export type GpuBuild = {
  readonly backend: "vulkan" | "cuda";
  /** Has the packages below `node_modules`. */
  readonly folder: string;
};

/** Messages from the server to a worker. Each call has its own id, which its responses repeat. */
export type ToWorker =
  | {
      readonly type: "load";
      readonly plan: LoadPlan;
      /** A build of the binding made on this machine, used instead of the prebuilt one. */
      readonly buildFolder?: string | undefined;
      /** Whether there is a file to exchange the states of prompts with the server. */
      readonly keepsPrompts?: boolean;
      /** Used unless the plan asks for the CPU. */
      readonly gpu?: GpuBuild | undefined;
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
  | { readonly type: "count"; readonly id: number; readonly conversation: Conversation }
  /** Keeps the states of all prompts in sequences that are not in use; the result is how many. */
  | { readonly type: "keep-prompts"; readonly id: number }
  /** The response to `find` and `keep`: how many bytes of a state are in the shared file. */
  | { readonly type: "prompt-state"; readonly bytes: number };

/**
 * What a worker asks of the server's prompt cache, one request at a time, because all use the same shared file. `find`
 * asks for a state, and after `prompt-state` with more than 0 bytes the worker sends `restored`; `keep` offers the state
 * that is in the file.
 */
export type PromptCacheRequest =
  | {
      readonly kind: "find";
      readonly partition: string;
      readonly prompt: readonly number[];
      /** How much of the prompt the sequence has already. */
      readonly cachedTokens: number;
    }
  | { readonly kind: "restored"; readonly isUsable: boolean }
  | {
      readonly kind: "keep";
      readonly partition: string;
      readonly tokens: readonly number[];
      readonly bytes: number;
    };

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
  | { readonly type: "prompt-cache"; readonly request: PromptCacheRequest }
  | Heartbeat;

type Heartbeat = {
  readonly type: "heartbeat";
  /** The current number of threads; undefined while the model is loading. */
  readonly threads: number | undefined;
  /** How long native code has been sampling the current token: with some grammars it never finishes. */
  readonly samplingSeconds: number;
  readonly measuredMemory?: MeasuredMemory | undefined;
};

export const heartbeatSeconds = 1;
