import type { FastifyReply, FastifyRequest } from "fastify";
import type { Call, CallHead } from "./route.ts";

export function describeHead(request: FastifyRequest, note: CallHead["note"]): CallHead {
  return {
    requestId: request.id,
    method: request.method,
    path: request.url.split("?", 1)[0] ?? "",
    // Fastify types it as unknown because it depends on the path; it is a flat record of strings.
    parameters: (request.params ?? {}) as Record<string, string>,
    // Fastify's parser gives a flat record; a repeated name has a list of strings.
    query: request.query as Record<string, unknown>,
    headers: headersOf(request),
    address: request.ip,
    note,
  };
}

export type CallParts = {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly admission: unknown;
};

export function describeCall(head: CallHead, { request, reply, admission }: CallParts): Call {
  let hangUp: AbortSignal | undefined;
  return {
    ...head,
    body: request.body,
    admission,
    /** Made for those who ask for it: most answers are there before anybody could hang up. */
    get signal() {
      hangUp ??= watchForHangUp(reply);
      return hangUp;
    },
  };
}

function watchForHangUp({ raw }: FastifyReply): AbortSignal {
  const hangUp = new AbortController();
  const end = (): void => {
    if (!raw.writableFinished) hangUp.abort();
  };
  if (raw.closed) end();
  else raw.once("close", end);
  return hangUp.signal;
}

/** Node keeps the first of two hosts or credentials; whoever decides on them has to see that there were two. */
function headersOf({ headers, raw }: FastifyRequest): CallHead["headers"] {
  // As many names as lines is the rule, and what tells the lines apart costs more than the rest of a small request.
  if (raw.rawHeaders.length === 2 * Object.keys(headers).length) return headers;
  const repeated = Object.entries(raw.headersDistinct).filter(([, values]) => (values?.length ?? 0) > 1);
  return repeated.length === 0 ? headers : { ...headers, ...Object.fromEntries(repeated) };
}
