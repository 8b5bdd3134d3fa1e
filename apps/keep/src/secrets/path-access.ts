import { allowsPath, type Grant } from "../authorization/grant.ts";
import { matchesBelow, patternsCover } from "../authorization/path-patterns.ts";
import { requestFailure } from "../failures.ts";

/** For a path that the request names, so a refusal may repeat it; a secret found by id is "not found" instead. */
export function assertPathAllowed(grant: Grant, path: string): void {
  if (!allowsPath(grant, path)) throw requestFailure({ kind: "out-of-reach", path });
}

/** The whole folder, with everything in it now or later, must be matched by a single pattern. */
export function assertFolderAllowed({ paths }: Grant, folder: string): void {
  const contents = folder === "/" ? "/**" : `${folder}/**`;
  if (paths === undefined || paths.some((pattern) => patternsCover([pattern], [contents]))) return;
  throw requestFailure({ kind: "out-of-reach", path: contents });
}

/** Whether the grant allows some path below the folder; other folders are left out of lists. */
export function allowsFolder({ paths }: Grant, folder: string): boolean {
  return paths === undefined || paths.some((pattern) => matchesBelow(pattern, folder));
}
