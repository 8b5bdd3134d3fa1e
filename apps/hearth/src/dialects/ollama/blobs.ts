import { type HttpResponse, type StreamLimits, streamBody } from "@hearth-and-keep/http-service";
import type { HearthDependencies, HearthRequest } from "../../dependencies.ts";
import { modelFailure } from "../../models/model-failure.ts";

/** Larger than any model; the store checks the space on its disk. */
const limits: StreamLimits = { maxBytes: 2 ** 42, idleSeconds: 60 };

export async function handleHeadBlob(
  request: HearthRequest,
  { models }: HearthDependencies,
): Promise<HttpResponse> {
  const digest = digestOf(request);
  if (await models.hasBlob(digest)) return { status: 200 };
  throw modelFailure({ kind: "blob-missing", digest });
}

/** Hashes the body while writing it. The blob is stored only if it is complete and matches its digest. */
export async function handleUploadBlob(
  request: HearthRequest,
  { models }: HearthDependencies,
): Promise<HttpResponse> {
  const digest = digestOf(request);
  const bytes = streamBody(request, limits);
  if (!(await models.hasBlob(digest))) {
    const announced = request.headers["content-length"];
    await models.addUpload(digest, {
      content: bytes,
      announcedBytes: announced === undefined ? undefined : Number(announced),
    });
    return { status: 201 };
  }
  // Read to the end: clients treat a response before the end of their upload as a broken connection.
  while ((await bytes.next()).done !== true);
  return { status: 200 };
}

function digestOf({ parameters }: HearthRequest): string {
  return parameters["digest"] ?? "";
}
