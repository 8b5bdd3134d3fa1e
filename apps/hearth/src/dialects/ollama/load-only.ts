import { type Answer, jsonAnswer } from "@hearth-and-keep/http-service";
import type { HearthCall, HearthParts } from "../../dependencies.ts";
import { wishFor } from "../../generation/load-request.ts";
import { withinSeconds } from "../../scheduling/timeout.ts";
import { readKeepAlive } from "./reading/keep-alive.ts";
import { readOptions } from "./reading/options.ts";
import type { AskedModel } from "./resolve-model.ts";
import type { ChatBody, GenerateBody } from "./schema.ts";

/** A model that is still answering leaves when it is done; nobody waits for that longer than this. */
const longestWaitSeconds = 2;

export type LoadOnlyParts = Pick<HearthParts, "scheduler"> & {
  /** The empty answer, in the words of the endpoint. */
  readonly emptyAnswer: Readonly<Record<string, unknown>>;
  /** Called before a load, not before an unload. */
  readonly requireAbilities: () => void;
};

/** A request that says nothing loads the model, or unloads it when it is to be kept for no time at all. */
export async function answerLoadOnly(
  { body, signal, note }: HearthCall<GenerateBody | ChatBody>,
  { model, requestedName }: AskedModel,
  { scheduler, emptyAnswer, requireAbilities }: LoadOnlyParts,
): Promise<Answer> {
  const keepAlive = readKeepAlive(body.keep_alive);
  const isUnload = keepAlive === 0;
  const { contextTokens } = readOptions(body.options);
  note({ model: model.name });
  if (isUnload) await withinSeconds(longestWaitSeconds, scheduler.unload(model.digest));
  else {
    requireAbilities();
    const wish = wishFor(
      {
        model,
        ...(contextTokens === undefined ? {} : { contextTokens }),
        ...(keepAlive === undefined ? {} : { keepAlive }),
      },
      "generate",
    );
    await scheduler.preload(wish, signal);
  }
  return jsonAnswer({
    model: requestedName,
    created_at: new Date().toISOString(),
    ...emptyAnswer,
    done: true,
    done_reason: isUnload ? "unload" : "load",
  });
}
