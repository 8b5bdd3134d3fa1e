import type { EngineFailure, LoadPlan } from "@hearth-and-keep/engine";

type OfModel = { readonly key: string; readonly purpose: LoadPlan["purpose"] };

/**
 * `expired`: its keep-alive ran out. `evicted`: another model needed the memory. `outgrown`: it is loaded again with
 * a larger context. `asked`: a person or a delete wanted it gone. `stopping`: the server ends. `died`: by itself.
 */
export type UnloadReason = "expired" | "evicted" | "outgrown" | "asked" | "stopping" | "died";

/** What metrics and logs hear of. */
export type SchedulingEvent =
  | (OfModel & {
      readonly type: "model-loaded";
      readonly contextTokens: number;
      readonly sequences: number;
      readonly memoryBytes: number;
      readonly loadMilliseconds: number;
    })
  | (OfModel & {
      readonly type: "model-unloaded";
      readonly reason: UnloadReason;
      readonly failure?: EngineFailure;
    })
  | (OfModel & { readonly type: "load-failed"; readonly problem: unknown })
  /** Everyone who waited for the load went away. */
  | (OfModel & { readonly type: "load-called-off" })
  | (OfModel & { readonly type: "queue-full"; readonly waiting: number });
