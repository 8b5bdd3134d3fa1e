import { type HttpResponse, jsonResponse } from "@hearth-and-keep/http-service";
import { onlyFromAdmin, requireAdmin } from "../../../access/authenticate.ts";
import type { HearthDependencies, HearthRequest } from "../../../dependencies.ts";
import { createLoadRequest } from "../../../scheduling/load-request.ts";
import { settlesWithin } from "../../../scheduling/timeout.ts";
import { readKeepAlive } from "../read-keep-alive.ts";
import { readOptions } from "../read-options.ts";
import type { ResolvedModel } from "../resolve-model.ts";
import type { ChatBody, GenerateBody } from "../schema.ts";

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
  { body, actor, signal, addLogFields }: HearthRequest<GenerateBody | ChatBody>,
  { model, requestedName }: ResolvedModel,
  { scheduler, emptyOutput, checkCapability }: LoadOnlyOptions,
): Promise<HttpResponse> {
  const requested = readKeepAlive(body.keep_alive);
  const isUnload = requested === 0;
  if (isUnload) requireAdmin(actor);
  const keepAlive = onlyFromAdmin(actor, requested);
  const { contextTokens } = readOptions(body.options);
  addLogFields({ model: model.name });
  if (isUnload) await settlesWithin(maxUnloadWaitSeconds, scheduler.unload(model.digest));
  else {
    checkCapability();
    const loadRequest = createLoadRequest(
      {
        model,
        ...(contextTokens === undefined ? {} : { contextTokens }),
        ...(keepAlive === undefined ? {} : { keepAlive }),
      },
      "generate",
    );
    await scheduler.preload(loadRequest, signal);
  }
  return jsonResponse({
    model: requestedName,
    created_at: new Date().toISOString(),
    ...emptyOutput,
    done: true,
    done_reason: isUnload ? "unload" : "load",
  });
}
