import type { HttpRequest } from "@hearth-and-keep/http-service";
import type { QueuePosition } from "./scheduling/load-request.ts";

/** Says in the headers of its response how long a request may wait, and in comments how its position falls. */
export function reportPosition(
  request: Pick<HttpRequest, "addResponseHeaders" | "addComment">,
  { position, seconds, isArrival }: QueuePosition,
): void {
  const wholeSeconds = seconds === undefined ? undefined : Math.max(1, Math.round(seconds));
  if (!isArrival) {
    const estimate = wholeSeconds === undefined ? "" : `, about ${wholeSeconds} s`;
    request.addComment?.(`queued, position ${position}${estimate}`);
    return;
  }
  request.addResponseHeaders({
    "hearth-queue-position": String(position),
    ...(wholeSeconds === undefined ? {} : { "hearth-queue-seconds": String(wholeSeconds) }),
  });
}
