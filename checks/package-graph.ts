import type { TextFile } from "./finding.ts";
import { isObject, type JsonObject, objectAt, readJsonAt, stringAt } from "./json-text.ts";
import { isFixture, isNamed } from "./source-tree.ts";

/** A place in the lock file: "apps/keep", "node_modules/pg", "node_modules/a/node_modules/b". */
export type LockfileKey = string;

const programs = ["apps/hearth", "apps/keep"];
const ownScope = "@hearth-and-keep/";
const testOnlyPackages = new Set([`${ownScope}test-servers`, `${ownScope}figures`]);

export function lockedPackages(
  files: readonly TextFile[],
  path = "package-lock.json",
): ReadonlyMap<LockfileKey, JsonObject> {
  const packages = objectAt(readJsonAt(files, path), "packages");
  return new Map(
    Object.entries(packages).flatMap(([place, entry]) => (isObject(entry) ? [[place, entry]] : [])),
  );
}

/** The package.json files of the root, every app, every package and every tool of ours. */
export function packageManifests(files: readonly TextFile[]): readonly TextFile[] {
  return files.filter(({ path }) => isNamed(path, "package.json") && !isFixture(path));
}

/**
 * What a user gets who installs either program: their dependencies and those of the workspace packages inside
 * them, whether those are installed or bundled. What only tests use is not followed.
 */
export function productionPackages(packages: ReadonlyMap<LockfileKey, JsonObject>): readonly LockfileKey[] {
  const reached = new Set<LockfileKey>();
  const waiting = programs.filter((place) => packages.has(place));
  for (let place = waiting.pop(); place !== undefined; place = waiting.pop()) {
    if (reached.has(place)) continue;
    reached.add(place);
    for (const wanted of wantedBy(packages.get(place) ?? {}, isOwn(place))) {
      const found = locate(wanted.name, { from: place, packages });
      if (found !== undefined) waiting.push(found);
      else if (!wanted.isOptional)
        throw new Error(`Cannot find "${wanted.name}" of "${place}" in the lock file`);
    }
  }
  return [...reached].filter((place) => !isOwn(place)).toSorted();
}

/** Names of the packages other people make that a package.json asks for, in any role. */
export function thirdPartyNames(manifest: JsonObject): readonly string[] {
  const roles = ["dependencies", "devDependencies", "optionalDependencies", "peerDependencies"];
  const names = new Set(roles.flatMap((role) => Object.keys(objectAt(manifest, role))));
  return [...names].filter((name) => !name.startsWith(ownScope));
}

type Wanted = { readonly name: string; readonly isOptional: boolean };

function wantedBy(entry: JsonObject, isWorkspace: boolean): Wanted[] {
  const required = Object.keys(objectAt(entry, "dependencies"));
  const optional = Object.keys(objectAt(entry, "optionalDependencies"));
  const peers = Object.keys(objectAt(entry, "peerDependencies"));
  const bundled = isWorkspace ? Object.keys(objectAt(entry, "devDependencies")).filter(isShippedPackage) : [];
  return [
    ...[...required, ...bundled]
      .filter((name) => !testOnlyPackages.has(name))
      .map((name) => ({ name, isOptional: optional.includes(name) })),
    ...[...optional, ...peers].map((name) => ({ name, isOptional: true })),
  ];
}

function isShippedPackage(name: string): boolean {
  return name.startsWith(ownScope) && !testOnlyPackages.has(name);
}

type Search = { readonly from: LockfileKey; readonly packages: ReadonlyMap<LockfileKey, JsonObject> };

/** Looks where Node looks: in node_modules beside the asking package, then in every folder above it. */
function locate(name: string, { from, packages }: Search): LockfileKey | undefined {
  for (let folder = from; ; folder = folder.includes("/") ? folder.slice(0, folder.lastIndexOf("/")) : "") {
    const place = folder === "" ? `node_modules/${name}` : `${folder}/node_modules/${name}`;
    const entry = packages.get(place);
    if (entry !== undefined) return entry["link"] === true ? stringAt(entry, "resolved") : place;
    if (folder === "") return undefined;
  }
}

function isOwn(place: LockfileKey): boolean {
  return !place.includes("node_modules/");
}
