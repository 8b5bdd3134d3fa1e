import { randomUUID } from "node:crypto";
import { isJsonObject } from "@hearth-and-keep/engine";
import {
  type BufferedResponse,
  createRequestValidator,
  type LogFields,
  type RequestHead,
  type RequestRecord,
} from "@hearth-and-keep/http-service";
import type { HearthDependencies, HearthRequest } from "../dependencies.ts";
import { invalidField } from "../failures.ts";
import { readIgnoredHeader } from "../ignored-header.ts";
import type { HearthRoute } from "../routes.ts";
import { bindRequests } from "../scheduling/scheduler.ts";
import type { RouteCall } from "./batch.ts";
import type { CallRoute } from "./batch-queue.ts";

export type CallRouteOptions = {
  readonly routes: readonly HearthRoute[];
  readonly dependencies: HearthDependencies;
  readonly onError: (error: unknown, head: RequestHead) => void;
  readonly recordRequest: (record: RequestRecord) => void;
};

/** Status in the log of a request that was stopped, as for a client that disconnects. */
const stopped = 499;

/**
 * Calls routes of this server without a connection: the same validation, handler, error format, log record and metrics
 * as over HTTP, but behind all requests that a client waits for.
 */
export function createRouteCaller(options: CallRouteOptions): CallRoute {
  // Leases are granted when no other request waits for one.
  const scheduler = bindRequests(options.dependencies.scheduler, { isBackground: true });
  const dependencies = { ...options.dependencies, scheduler };
  const validators = new Map<HearthRoute, ReturnType<typeof createRequestValidator>>();
  const respond = async (row: HearthRoute, request: HearthRequest): Promise<BufferedResponse> => {
    const validate = validators.get(row) ?? createRequestValidator(row);
    validators.set(row, validate);
    const { body } = request;
    validate(body, {});
    if (isJsonObject(body) && body["stream"] === true)
      throw invalidField("stream", "must be false in a batch");
    const response = await row.handle(request, dependencies);
    if ("chunks" in response) throw new TypeError(`"${row.path}" streams without being asked`);
    return response;
  };
  return async (call, signal) => {
    const row = options.routes.find(({ method, path }) => method === "POST" && path === call.path);
    if (row === undefined) throw new TypeError(`Cannot find the route "${call.path}"`);
    const startedAt = performance.now();
    const context = createContext(call);
    const { head } = context;
    const finish = (status: number): void =>
      options.recordRequest({
        ...context.logFields(),
        requestId: head.requestId,
        route: `POST ${row.path}`,
        status,
        durationMilliseconds: Math.round(performance.now() - startedAt),
      });
    try {
      const body = call.readBody();
      const response = await respond(row, { ...head, body, actor: call.actor, signal });
      finish(response.status);
      return context.answer(response);
    } catch (error) {
      if (signal.aborted) {
        finish(stopped);
        throw error;
      }
      options.onError(error, head);
      const response = row.protocol.errorResponse(error, head);
      finish(response.status);
      return context.answer(response);
    }
  };
}

function createContext({ path, headers, clientAddress, actor }: RouteCall) {
  let logFields: LogFields = { keyName: actor.keyName };
  const ignored: string[] = [];
  const head: RequestHead = {
    requestId: randomUUID(),
    method: "POST",
    path,
    parameters: {},
    query: {},
    headers,
    clientAddress,
    addLogFields: (fields) => void (logFields = { ...logFields, ...fields }),
    addResponseHeaders: (added) => void ignored.push(...readIgnoredHeader(added)),
  };
  return {
    head,
    logFields: () => logFields,
    answer: ({ status, body }: BufferedResponse) => ({
      requestId: head.requestId,
      status,
      body: typeof body === "string" ? body : Buffer.from(body ?? "").toString("utf8"),
      ...(ignored.length === 0 ? {} : { ignored: [...new Set(ignored)].join(", ") }),
    }),
  };
}
