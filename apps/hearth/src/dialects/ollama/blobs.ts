import { type Answer, type StreamBounds, streamBody } from "@hearth-and-keep/http-service";
import type { HearthCall, HearthParts } from "../../dependencies.ts";
import { modelFailure } from "../../models/model-failure.ts";

/** Far above every model; the disk ends before. */
const bounds: StreamBounds = { mostBytes: 2 ** 42, idleSeconds: 60 };

export async function answerHasBlob(call: HearthCall, { models }: HearthParts): Promise<Answer> {
  const digest = digestIn(call);
  if (await models.hasBlob(digest)) return { status: 200 };
  throw modelFailure({ kind: "blob-missing", digest });
}

/** The body is written and hashed as it comes; it is kept only when it is whole and what its digest says. */
export async function answerTakeBlob(call: HearthCall, { models }: HearthParts): Promise<Answer> {
  const digest = digestIn(call);
  const bytes = streamBody(call, bounds);
  if (!(await models.hasBlob(digest))) {
    await models.addBlob(digest, bytes);
    return { status: 201 };
  }
  // Clients that are still sending take an early answer for a broken connection.
  while ((await bytes.next()).done !== true);
  return { status: 200 };
}

function digestIn({ parameters }: HearthCall): string {
  return parameters["digest"] ?? "";
}
