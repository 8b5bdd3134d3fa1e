import { allowsPath, type Grant, pathListsOf, type Reach } from "../authorization/grant.ts";
import type { PathCursor, SecretRow } from "./queries.ts";
import { joinPath } from "./secret-path.ts";

type Location = Pick<SecretRow, "folder" | "name">;

/** Whether the grant allows a row's path; undefined when it allows every path. */
export function pathFilter(grant: Grant, reach: Reach): ((row: Location) => boolean) | undefined {
  if (pathListsOf(grant, reach).length === 0) return undefined;
  return ({ folder, name }) => allowsPath(grant, reach, joinPath(folder, name));
}

/** For lists in order of folder and name. */
export function pathCursorOf({ folder, name }: Location): readonly string[] {
  return [folder, name];
}

export function toPathCursor(values: readonly string[] | null): PathCursor {
  const [folder, name] = values ?? [];
  return folder === undefined || name === undefined ? null : [folder, name];
}
