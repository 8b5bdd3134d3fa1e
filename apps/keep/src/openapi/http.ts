import { createHttpService, type HttpService, jsonAnswer } from "@hearth-and-keep/http-service";
import type { Metrics } from "../metrics.ts";
import type { KeepRoute } from "../route-row.ts";

export const paperRoutes: readonly KeepRoute[] = [
  {
    method: "GET",
    path: "/openapi.json",
    access: "public",
    summary: "This interface as an OpenAPI document",
    answers: { 200: { type: "application/json" } },
    handle: (_call, { apiDocument }) => jsonAnswer(apiDocument()),
  },
];

const plainText = { "content-type": "text/plain; charset=utf-8" };

/** Metrics have a port of their own, so that who reaches Keep does not reach them. */
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
    mostBodyBytes: 1024,
    answerFailure: () => ({ status: 404, headers: plainText, body: "Only GET /metrics is here\n" }),
    recordRequest: () => undefined,
  });
}
