import type { Grant } from "../authorization/grant.ts";
import { reachesPath } from "../authorization/grant.ts";
import { isWithin } from "../authorization/secret-paths.ts";
import { requestFailure } from "../failures.ts";

/** For a path that the request itself names. */
export function refuseUnlessReached(grant: Grant, path: string): void {
  if (!reachesPath(grant, path)) throw requestFailure({ kind: "out-of-reach", path });
}

/** The same for a folder with everything that is or will be in it. */
export function refuseUnlessFolderReached(grant: Grant, folder: string): void {
  const everything = folder === "/" ? "/**" : `${folder}/**`;
  if (grant.paths !== undefined && !grant.paths.some((pattern) => isWithin(pattern, everything))) {
    throw requestFailure({ kind: "out-of-reach", path: everything });
  }
}

/** Whether something may be in the folder that the holder reaches; otherwise it is not shown. */
export function reachesInto({ paths }: Grant, folder: string): boolean {
  return paths === undefined || paths.some((pattern) => leadsInto(segmentsOf(pattern), segmentsOf(folder)));
}

/**
 * The patterns of a grant as regular expressions of PostgreSQL, so that a page of a list holds what its holder reaches;
 * null reaches all. They say the same as `reachesPath`.
 */
export function reachExpressions({ paths }: Grant): readonly string[] | null {
  if (paths === undefined) return null;
  return paths.map((pattern) => `^${segmentsOf(pattern).map(expressionFor).join("")}$`);
}

function expressionFor(segment: string): string {
  if (segment === "**") return "/.+";
  if (segment === "*") return "/[^/]+";
  return `/${segment.replaceAll(/[!-/:-@[-`{-~]/gu, String.raw`\$&`)}`;
}

function leadsInto(pattern: readonly string[], folder: readonly string[]): boolean {
  const end = pattern.indexOf("**");
  const isDeepEnough = end === -1 ? pattern.length > folder.length : true;
  return (
    isDeepEnough &&
    folder.every((segment, index) => {
      const part = pattern[index];
      return (end !== -1 && index >= end) || part === "*" || part === segment;
    })
  );
}

function segmentsOf(path: string): readonly string[] {
  return path.split("/").filter((segment) => segment !== "");
}
