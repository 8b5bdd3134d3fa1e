import { createHttpService, type HttpResponse, type HttpService } from "@hearth-and-keep/http-service";
import type { KeepDependencies } from "../dependencies.ts";
import type { Metrics } from "../metrics.ts";
import type { KeepRequest } from "../route-row.ts";

export function handleOpenApi(_request: KeepRequest, { apiDocument }: KeepDependencies): HttpResponse {
  return { status: 200, headers: { "content-type": "application/json; charset=utf-8" }, body: apiDocument() };
}

const plainText = { "content-type": "text/plain; charset=utf-8" };

/** On a separate port, so that clients of the API cannot reach the metrics. */
export function createMetricsService(metrics: Pick<Metrics, "render">): HttpService {
  return createHttpService({
    routes: [
      {
        method: "GET",
        path: "/metrics",
        handle: async () => {
          const { contentType, text } = await metrics.render();
          return { status: 200, headers: { "content-type": contentType }, body: text };
        },
      },
    ],
    dependencies: undefined,
    authenticate: () => undefined,
    maxBodyBytes: 1024,
    toErrorResponse: () => ({ status: 404, headers: plainText, body: "Not found; use GET /metrics\n" }),
    recordRequest: () => undefined,
  });
}
