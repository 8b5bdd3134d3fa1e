import { navigate, type PageLocation, useLocation } from "@hearth-and-keep/page-design";
import type { SecretSort } from "@hearth-and-keep/vault-contract";
import { useMemo } from "react";

/** The state of the secrets screen. All of it is in the URL, so that it survives navigation and can be shared. */
export type SecretsLocation = {
  /** Undefined until the default vault is known. */
  readonly vaultId: string | undefined;
  readonly view: "secrets" | "environments" | "changes";
  readonly folder: string;
  /** Searches the whole vault; empty for no search. */
  readonly search: string;
  readonly tag: string;
  readonly isDeleted: boolean;
  readonly sort: SecretSort;
  readonly secretId: string | undefined;
  /** A proposed change. */
  readonly changeId: string | undefined;
  /** Whether decided changes are listed, instead of pending ones. */
  readonly isDecided: boolean;
  readonly isExporting: boolean;
  /** Whether the panel with the vault's access is open. */
  readonly isSharing: boolean;
};

export const sorts: readonly SecretSort[] = ["name", "-name", "updated", "-updated", "created", "-created"];

export function useSecretsLocation(): SecretsLocation {
  const location = useLocation();
  return useMemo(() => parseLocation(location), [location]);
}

function parseLocation({ path, query }: PageLocation): SecretsLocation {
  const [, , vaultId, view] = path.split("/");
  return {
    vaultId: vaultId === "" ? undefined : vaultId,
    view: view === "environments" || view === "changes" ? view : "secrets",
    folder: query.get("folder") ?? "/",
    search: query.get("q") ?? "",
    tag: query.get("tag") ?? "",
    isDeleted: query.get("state") === "deleted",
    sort: sorts.find((sort) => sort === query.get("sort")) ?? "name",
    secretId: query.get("secret") ?? undefined,
    changeId: query.get("change") ?? undefined,
    isDecided: query.get("state") === "decided",
    isExporting: query.get("open") === "export",
    isSharing: query.get("open") === "access",
  };
}

/** Identifies the list at a location, however it is sorted. */
export function listKeyOf({ vaultId, folder, search, tag, isDeleted }: SecretsLocation): string {
  return hrefOf({ vaultId, folder, search, tag, isDeleted });
}

export function hrefOf(location: Partial<SecretsLocation> & Pick<SecretsLocation, "vaultId">): string {
  const { vaultId, folder = "/", search = "", tag = "", secretId, changeId } = location;
  const state = location.isDeleted === true ? "deleted" : location.isDecided === true ? "decided" : "";
  const parameters = [
    ["folder", folder === "/" ? "" : folder],
    ["q", search],
    ["tag", tag],
    ["state", state],
    ["sort", location.sort === undefined || location.sort === "name" ? "" : location.sort],
    ["secret", secretId ?? ""],
    ["change", changeId ?? ""],
    ["open", location.isExporting === true ? "export" : location.isSharing === true ? "access" : ""],
  ] as const;
  const query = parameters
    .filter(([, value]) => value !== "")
    .map(([name, value]) => `${name}=${encodeStrictly(value)}`)
    .join("&");
  const view = location.view === undefined || location.view === "secrets" ? "" : `/${location.view}`;
  return `/secrets${vaultId === undefined ? "" : `/${vaultId}${view}`}${query === "" ? "" : `?${query}`}`;
}

export function navigateTo(
  location: SecretsLocation,
  changes: Partial<SecretsLocation>,
  replace = false,
): void {
  navigate(hrefOf({ ...location, ...changes }), { replace });
}

/** Percent-encodes more than `encodeURIComponent`: `return_to` of a sign-in accepts no other reserved characters. */
function encodeStrictly(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replaceAll(
    /[!'()*]/gu,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** The folder and its ancestors, outermost first; empty for the root. */
export function parentFolders(folder: string): readonly { readonly path: string; readonly name: string }[] {
  const names = folder.split("/").filter((name) => name !== "");
  return names.map((name, index) => ({ name, path: `/${names.slice(0, index + 1).join("/")}` }));
}

export function joinPath(folder: string, name: string): string {
  return folder === "/" ? `/${name}` : `${folder}/${name}`;
}
