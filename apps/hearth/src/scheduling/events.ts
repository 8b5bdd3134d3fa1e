import type { EngineFailure, LoadPlan } from "@hearth-and-keep/engine";

type ModelEvent = { readonly key: string; readonly purpose: LoadPlan["purpose"] };

/**
 * `expired`: its keep-alive has expired. `evicted`: another model needs the memory. `outgrown`: it is reloaded with a
 * larger context. `requested`: by a client or because the model was deleted. `stopping`: the server is shutting down.
 */
export type UnloadReason = "expired" | "evicted" | "outgrown" | "requested" | "stopping" | "crashed";

/** Reported to metrics and logs. */
export type SchedulingEvent =
  | (ModelEvent & {
      readonly type: "model-loaded";
      readonly contextTokens: number;
      readonly sequences: number;
      readonly memoryBytes: number;
      readonly loadMilliseconds: number;
      /** What protects the machine from the engine; absent if another machine runs it. */
      readonly protection?: string;
    })
  | (ModelEvent & {
      readonly type: "model-unloaded";
      readonly reason: UnloadReason;
      readonly failure?: EngineFailure;
    })
  | (ModelEvent & { readonly type: "load-failed"; readonly error: unknown })
  /** All requests that waited for the load were aborted. */
  | (ModelEvent & { readonly type: "load-cancelled" })
  | (ModelEvent & { readonly type: "queue-full"; readonly waiting: number });
