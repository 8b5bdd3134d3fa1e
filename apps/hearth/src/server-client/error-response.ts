import { errorCodeHeader, type ReceivedError, readErrorBody } from "@hearth-and-keep/hearth-contract";
import type { OutboundResponse } from "@hearth-and-keep/outbound-http";
import { type CallError, callFailure } from "./call-failure.ts";

export type RequestContext = {
  readonly url: string;
  readonly hasKey: boolean;
  readonly body?: unknown;
};

const maxErrorBytes = 64 * 1024;

/** What to throw for a response with an error status. */
export async function readErrorResponse(
  response: OutboundResponse,
  context: RequestContext,
): Promise<CallError> {
  const { status, headers } = response;
  const text = (await response.readAll(maxErrorBytes).catch(() => Buffer.of())).toString("utf8");
  // HEAD responses carry the code in a header, because they have no body.
  const code = headers[errorCodeHeader];
  const body = code === undefined ? parseJson(text) : { error: `HTTP status ${status}`, code };
  const received = readErrorBody(body) ?? (status === 401 ? unauthorized : undefined);
  if (received === undefined) return callFailure({ kind: "unexpected-server", url: context.url });
  return errorResponse(status, received, context);
}

/** An error object in a stream; undefined for any other object. */
export function readStreamedError(object: unknown, context: RequestContext): CallError | undefined {
  const received = readErrorBody(object);
  return received === undefined ? undefined : errorResponse(500, received, context);
}

const unauthorized: ReceivedError = { message: "unauthorized", code: undefined, details: {} };

function errorResponse(status: number, received: ReceivedError, context: RequestContext): CallError {
  return callFailure({
    kind: "error-response",
    url: context.url,
    status,
    ...received,
    ...(received.code === undefined ? inferCode(status, context) : {}),
  });
}

/** Servers without codes, e.g. Ollama or a proxy, report a missing key or model by the status alone. */
function inferCode(status: number, { hasKey, body }: RequestContext): Partial<ReceivedError> {
  if (status === 401) return { code: hasKey ? "key-invalid" : "key-missing" };
  const model = typeof body === "object" && body !== null && "model" in body ? body.model : undefined;
  if (status === 404 && typeof model === "string") return { code: "model-not-found", details: { model } };
  return {};
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
