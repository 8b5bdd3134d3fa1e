import type { FastifyReply, FastifyRequest } from "fastify";

type Outcome = {
  readonly requestId: string;
  readonly route: string;
  readonly status: number;
  readonly durationMilliseconds: number;
};

/** What stands in the record of a caller who hung up before the answer was complete; nobody is ever sent it. */
const hungUp = 499;

/** Tells how a request ended, also when nobody waited for its end. */
export function watchRequest(
  request: FastifyRequest,
  reply: FastifyReply,
  onEnd: (outcome: Outcome) => void,
): void {
  const startedAt = performance.now();
  reply.raw.once("close", () => {
    onEnd({
      requestId: request.id,
      route: `${request.method} ${request.routeOptions.url ?? "no route"}`,
      status: reply.raw.writableFinished ? reply.raw.statusCode : hungUp,
      durationMilliseconds: Math.round(performance.now() - startedAt),
    });
  });
}
