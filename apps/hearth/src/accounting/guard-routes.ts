/**
 * @module
 * What keys of a database may do and use: models, limits per minute, requests at the same time and budgets. Each request
 * is checked on its matched route before its handler runs, for all APIs and batches alike, and settled once when it
 * ends, however it ends, with its row of the ledger. Loaded only where keys are in a database. Imported by
 * `commands/serve.ts`.
 */
import type { HearthRoute } from "../routes.ts";
import { runsModel } from "./counted-routes.ts";
import { GuardedRequest, type GuardServices } from "./guarded-request.ts";
import { recordRequest } from "./record-request.ts";

/** Adds the checks to a route. */
export type GuardRoute = (row: HearthRoute) => HearthRoute;

export function createRouteGuard(services: GuardServices): GuardRoute {
  const running = new Set<GuardedRequest>();
  services.keys.onChange(() => {
    for (const guarded of running) void guarded.review().catch(services.onError);
  });
  const onEnd = (guarded: GuardedRequest): void => void running.delete(guarded);
  return (row) => ({
    ...row,
    handle: async (request, dependencies) => {
      if (request.actor.keyId === undefined) return handleConfigured(row, services)(request, dependencies);
      const guarded = new GuardedRequest(row, request, { ...services, onEnd });
      running.add(guarded);
      try {
        const handling = await guarded.admit(dependencies);
        const response = await guarded.run(
          Promise.resolve(row.handle(handling.request, handling.dependencies)),
        );
        if ("chunks" in response) return { ...response, chunks: guarded.watch(response.chunks) };
        await guarded.finish();
        guarded.end();
        return response;
      } catch (error) {
        throw guarded.fail(error);
      }
    },
  });
}

/** Keys from a flag or a file have no limits. */
function handleConfigured(
  row: HearthRoute,
  { record }: Pick<GuardServices, "record">,
): HearthRoute["handle"] {
  return runsModel(row) ? recordRequest(row, record) : row.handle;
}
