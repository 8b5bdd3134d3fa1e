import type { TextFile } from "./finding.ts";
import { isObject, type JsonObject, objectAt, readJsonAt, stringAt } from "./json-text.ts";
import { isFixture, isNamed } from "./source-tree.ts";

/** A key in the lock file: "apps/keep", "node_modules/pg", "node_modules/a/node_modules/b". */
export type LockfileKey = string;

const programs = ["apps/hearth", "apps/keep"];
const ownScope = "@hearth-and-keep/";
const testOnlyPackages = new Set([`${ownScope}test-servers`, `${ownScope}figures`]);

export function lockedPackages(
  files: readonly TextFile[],
  path = "package-lock.json",
): ReadonlyMap<LockfileKey, JsonObject> {
  const packages = objectAt(readJsonAt(files, path), "packages");
  return new Map(Object.entries(packages).flatMap(([key, entry]) => (isObject(entry) ? [[key, entry]] : [])));
}

/** The package.json files of the root and of every app, package and tool. */
export function packageManifests(files: readonly TextFile[]): readonly TextFile[] {
  return files.filter(({ path }) => isNamed(path, "package.json") && !isFixture(path));
}

/**
 * The packages that a user of either program installs: its dependencies and those of its workspace packages, whether
 * installed or bundled. Test-only dependencies are not followed.
 */
export function productionPackages(packages: ReadonlyMap<LockfileKey, JsonObject>): readonly LockfileKey[] {
  const reached = new Set<LockfileKey>();
  const pending = programs.filter((key) => packages.has(key));
  for (let key = pending.pop(); key !== undefined; key = pending.pop()) {
    if (reached.has(key)) continue;
    reached.add(key);
    for (const dependency of dependenciesOf(packages.get(key) ?? {}, isOwn(key))) {
      const found = locate(dependency.name, { from: key, packages });
      if (found !== undefined) pending.push(found);
      else if (!dependency.isOptional)
        throw new Error(`Cannot find "${dependency.name}" of "${key}" in the lock file`);
    }
  }
  return [...reached].filter((key) => !isOwn(key)).toSorted();
}

/** The third-party packages that a package.json lists, as any kind of dependency. */
export function thirdPartyNames(manifest: JsonObject): readonly string[] {
  const kinds = ["dependencies", "devDependencies", "optionalDependencies", "peerDependencies"];
  const names = new Set(kinds.flatMap((kind) => Object.keys(objectAt(manifest, kind))));
  return [...names].filter((name) => !name.startsWith(ownScope));
}

type Dependency = { readonly name: string; readonly isOptional: boolean };

function dependenciesOf(entry: JsonObject, isWorkspace: boolean): Dependency[] {
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

/** Resolves as Node does: in node_modules next to the importing package, then in every folder above it. */
function locate(name: string, { from, packages }: Search): LockfileKey | undefined {
  for (let folder = from; ; folder = folder.includes("/") ? folder.slice(0, folder.lastIndexOf("/")) : "") {
    const key = folder === "" ? `node_modules/${name}` : `${folder}/node_modules/${name}`;
    const entry = packages.get(key);
    if (entry !== undefined) return entry["link"] === true ? stringAt(entry, "resolved") : key;
    if (folder === "") return undefined;
  }
}

function isOwn(key: LockfileKey): boolean {
  return !key.includes("node_modules/");
}
