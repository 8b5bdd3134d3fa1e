import type { EngineFailure } from "@hearth-and-keep/engine";

/** Every expected failure of acquiring a lease, including the engine's own. */
export type SchedulingFailure =
  | {
      readonly kind: "queue-full";
      readonly waiting: number;
      /** From 1 to 30: official clients ignore values over a minute. */
      readonly retryAfterSeconds: number;
    }
  | { readonly kind: "server-stopping" }
  | EngineFailure;
