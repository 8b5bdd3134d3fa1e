import type { EngineFailure } from "@hearth-and-keep/engine";

/** Everything that can be expected to go wrong on the way to a lease. Failures of the engine pass through. */
export type SchedulingFailure =
  | {
      readonly kind: "queue-full";
      readonly waiting: number;
      /** From 1 to 30: official clients ignore an advice of more than a minute. */
      readonly retryAfterSeconds: number;
    }
  | { readonly kind: "server-stopping" }
  | EngineFailure;
