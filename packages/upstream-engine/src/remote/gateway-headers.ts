import { createHash } from "node:crypto";
import type { EngineRequest } from "@hearth-and-keep/engine";

/** For engines behind the gateway of llm-d, which queues requests per caller and by objective. */
export type GatewayOptions = {
  /** The name of an InferenceObjective of the cluster, which has a priority there. */
  readonly objective?: string;
};

/**
 * The caller is named by a hash of its key's name: the same on every node, and it tells the gateway neither the name nor
 * the key. Sent only to pools that are configured for it.
 */
export function gatewayHeaders(
  { caller }: Pick<EngineRequest, "caller">,
  { objective }: GatewayOptions,
): Readonly<Record<string, string>> {
  return {
    ...(caller === undefined ? {} : { "x-llm-d-inference-fairness-id": fairnessId(caller) }),
    ...(objective === undefined ? {} : { "x-llm-d-inference-objective": objective }),
  };
}

function fairnessId(caller: string): string {
  return createHash("sha256").update(`hearth fairness id\0${caller}`).digest("hex").slice(0, 32);
}
