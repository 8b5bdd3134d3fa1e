/**
 * @module
 * Versions of a secret: restoring an older one as a new version, and destroying an older one's value. Guarantees that
 * version numbers are never reused and that the value of a version never changes.
 * Imported by `routes.ts`; writing a secret adds versions through `queries.ts`.
 */
import type { HttpResponse } from "@hearth-and-keep/http-service";
import { readChange, readId } from "../../access/read-change.ts";
import type { KeepDependencies } from "../../dependencies.ts";
import { requestFailure } from "../../failures.ts";
import type { KeepRequest } from "../../route-row.ts";
import { secretResponse } from "../http.ts";
import { destroyOldVersion, restoreVersion, type VersionRef } from "./change-versions.ts";

export async function handleRestoreVersion(
  request: KeepRequest,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const change = readChange(request, dependencies);
  const { result } = await restoreVersion(change, readVersionRef(request), dependencies);
  return secretResponse(result);
}

export async function handleDestroyVersion(
  request: KeepRequest,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  await destroyOldVersion(readChange(request, dependencies), readVersionRef(request), dependencies);
  return { status: 204 };
}

function readVersionRef({ parameters }: Pick<KeepRequest, "parameters">): VersionRef {
  const version = parameters["version"] ?? "";
  if (!/^[1-9]\d{0,8}$/u.test(version)) throw requestFailure({ kind: "not-found" });
  return { id: readId(parameters["secret"]), version: Number(version) };
}
