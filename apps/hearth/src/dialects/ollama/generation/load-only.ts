import { type HttpResponse, jsonResponse } from "@hearth-and-keep/http-service";
import { onlyFromAdmin, requireAdmin } from "../../../access/authenticate.ts";
import type { HearthDependencies, HearthRequest } from "../../../dependencies.ts";
import { reportLoad, reportLocation } from "../../../generation/run-generation.ts";
import { createLoadRequest } from "../../../scheduling/load-request.ts";
import { settlesWithin } from "../../../scheduling/timeout.ts";
import { readKeepAlive } from "../read-keep-alive.ts";
import { readOptions } from "../read-options.ts";
import type { ResolvedModel } from "../resolve-model.ts";
import type { ChatBody, GenerateBody } from "../schema.ts";
import { streamResponse, wantsServerSentEvents } from "../stream-response.ts";

/** A busy model is unloaded when it becomes idle; the response does not wait longer than this. */
const maxUnloadWaitSeconds = 2;

export type LoadOnlyOptions = Pick<HearthDependencies, "scheduler"> & {
  /** The fields of an empty output, in the shape of the endpoint. */
  readonly emptyOutput: Readonly<Record<string, unknown>>;
  /** Called before a load, not before an unload. */
  readonly checkCapability: () => void;
};

/** A request without a prompt loads the model, or unloads it if `keep_alive` is 0. */
export async function handleLoadOnly(
  request: HearthRequest<GenerateBody | ChatBody>,
  resolved: ResolvedModel,
  options: LoadOnlyOptions,
): Promise<HttpResponse> {
  if (!wantsServerSentEvents(request)) return jsonResponse(await loadOrUnload(request, resolved, options));
  const objects = async function* () {
    yield await loadOrUnload(request, resolved, options);
  };
  return streamResponse(request, objects(), {});
}

async function loadOrUnload(
  request: HearthRequest<GenerateBody | ChatBody>,
  { model, requestedName }: ResolvedModel,
  { scheduler, emptyOutput, checkCapability }: LoadOnlyOptions,
): Promise<object> {
  const { body, actor, signal } = request;
  const requested = readKeepAlive(body.keep_alive);
  const isUnload = requested === 0;
  if (isUnload) requireAdmin(actor);
  const keepAlive = onlyFromAdmin(actor, requested);
  const { contextTokens, ...options } = readOptions(body.options);
  const loadSettings = onlyFromAdmin(actor, options.loadSettings);
  reportLocation(model, request);
  if (isUnload) await settlesWithin(maxUnloadWaitSeconds, scheduler.unload(model.digest));
  else {
    checkCapability();
    const loadRequest = createLoadRequest(
      {
        model,
        ...(contextTokens === undefined ? {} : { contextTokens }),
        ...(loadSettings === undefined ? {} : { loadSettings }),
        ...(keepAlive === undefined ? {} : { keepAlive }),
      },
      "generate",
    );
    await reportLoad(request, (onLoadProgress) =>
      scheduler.preload({ ...loadRequest, onLoadProgress }, signal),
    );
  }
  return {
    model: requestedName,
    created_at: new Date().toISOString(),
    ...emptyOutput,
    done: true,
    done_reason: isUnload ? "unload" : "load",
  };
}
