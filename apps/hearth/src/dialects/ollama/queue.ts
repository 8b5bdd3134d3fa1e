import { type HttpResponse, jsonResponse } from "@hearth-and-keep/http-service";
import type { HearthDependencies, HearthRequest } from "../../dependencies.ts";
import { bareDigest } from "../../models/store/digest.ts";
import type { ModelQueue } from "../../scheduling/running-models.ts";

/**
 * `GET /api/queue`, Hearth's own: what runs and waits on each model. A key sees the positions of its own requests, and an
 * admin those of all keys.
 */
export async function handleQueue(
  { actor }: HearthRequest,
  { models, scheduler }: HearthDependencies,
): Promise<HttpResponse> {
  const listing = await models.list();
  const nameOf = (digest: string): string =>
    listing.models.find((model) => model.digest === digest)?.name ?? bareDigest(digest).slice(0, 12);
  const { keyName, keyId: ownId = keyName, role } = actor;
  return jsonResponse({
    models: scheduler.queues().map((queue) => ({
      model: nameOf(queue.key),
      purpose: queue.purpose,
      running: queue.leases,
      slots: queue.slots,
      waiting: queue.waiting,
      output_token_weight: Math.round(queue.outputWeight * 100) / 100,
      requests: queue.positions
        .filter(({ ownerId }) => role === "admin" || ownerId === ownId)
        .map((queuePosition) => ({ model: nameOf(queuePosition.key), ...writePosition(queuePosition) })),
    })),
  });
}

function writePosition({ ownerId, position, seconds, waitedMilliseconds }: ModelQueue["positions"][number]) {
  return {
    key: ownerId,
    position,
    estimated_seconds: seconds === undefined ? null : Math.max(1, Math.round(seconds)),
    waited_seconds: Math.round(waitedMilliseconds / 100) / 10,
  };
}
