import { navigate, type PageLocation, useLocation } from "@hearth-and-keep/page-design";
import { useMemo } from "react";

/** The state of the secrets screen. All of it is in the URL, so that it survives navigation and can be shared. */
export type SecretsLocation = {
  /** Undefined until the default vault is known. */
  readonly vaultId: string | undefined;
  readonly folder: string;
  /** Searches the whole vault; empty for no search. */
  readonly search: string;
  readonly tag: string;
  readonly isDeleted: boolean;
  readonly secretId: string | undefined;
  readonly isExporting: boolean;
};

export function useSecretsLocation(): SecretsLocation {
  const location = useLocation();
  return useMemo(() => parseLocation(location), [location]);
}

function parseLocation({ path, query }: PageLocation): SecretsLocation {
  const vaultId = path.split("/")[2];
  return {
    vaultId: vaultId === "" ? undefined : vaultId,
    folder: query.get("folder") ?? "/",
    search: query.get("q") ?? "",
    tag: query.get("tag") ?? "",
    isDeleted: query.get("state") === "deleted",
    secretId: query.get("secret") ?? undefined,
    isExporting: query.get("open") === "export",
  };
}

export function hrefOf(location: Partial<SecretsLocation> & Pick<SecretsLocation, "vaultId">): string {
  const { vaultId, folder = "/", search = "", tag = "", isDeleted = false, secretId, isExporting } = location;
  const parameters = [
    ["folder", folder === "/" ? "" : folder],
    ["q", search],
    ["tag", tag],
    ["state", isDeleted ? "deleted" : ""],
    ["secret", secretId ?? ""],
    ["open", isExporting === true ? "export" : ""],
  ] as const;
  const query = parameters
    .filter(([, value]) => value !== "")
    .map(([name, value]) => `${name}=${encodeStrictly(value)}`)
    .join("&");
  return `/secrets${vaultId === undefined ? "" : `/${vaultId}`}${query === "" ? "" : `?${query}`}`;
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
