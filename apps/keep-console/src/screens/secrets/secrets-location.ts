import { type Address, go, useAddress } from "@hearth-and-keep/page-design";
import { useMemo } from "react";

/** Where in the secrets somebody is; all of it stands in the address, so that it can be gone back to and shared. */
export type SecretsPlace = {
  /** Undefined before one is chosen. */
  readonly vaultId: string | undefined;
  readonly folder: string;
  /** Searched for in the whole vault; empty for none. */
  readonly text: string;
  readonly tag: string;
  readonly isDeleted: boolean;
  readonly secretId: string | undefined;
  readonly isExporting: boolean;
};

export function usePlace(): SecretsPlace {
  const address = useAddress();
  return useMemo(() => placeOf(address), [address]);
}

function placeOf({ path, query }: Address): SecretsPlace {
  const vaultId = path.split("/")[2];
  return {
    vaultId: vaultId === "" ? undefined : vaultId,
    folder: query.get("folder") ?? "/",
    text: query.get("q") ?? "",
    tag: query.get("tag") ?? "",
    isDeleted: query.get("state") === "deleted",
    secretId: query.get("secret") ?? undefined,
    isExporting: query.get("open") === "export",
  };
}

export function addressOf(place: Partial<SecretsPlace> & Pick<SecretsPlace, "vaultId">): string {
  const { vaultId, folder = "/", text = "", tag = "", isDeleted = false, secretId, isExporting } = place;
  const parts = [
    ["folder", folder === "/" ? "" : folder],
    ["q", text],
    ["tag", tag],
    ["state", isDeleted ? "deleted" : ""],
    ["secret", secretId ?? ""],
    ["open", isExporting === true ? "export" : ""],
  ] as const;
  const query = parts
    .filter(([, value]) => value !== "")
    .map(([name, value]) => `${name}=${encodePlainly(value)}`)
    .join("&");
  return `/secrets${vaultId === undefined ? "" : `/${vaultId}`}${query === "" ? "" : `?${query}`}`;
}

export function goTo(place: SecretsPlace, changes: Partial<SecretsPlace>, replaces = false): void {
  go(addressOf({ ...place, ...changes }), { replaces });
}

/** A sign-in comes back only to addresses whose every character means itself. */
function encodePlainly(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replaceAll(
    /[!'()*]/gu,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** The folder and all that it is in, the outermost first; none for the root. */
export function trailOf(folder: string): readonly { readonly path: string; readonly name: string }[] {
  const names = folder.split("/").filter((name) => name !== "");
  return names.map((name, index) => ({ name, path: `/${names.slice(0, index + 1).join("/")}` }));
}

export function joinPath(folder: string, name: string): string {
  return folder === "/" ? `/${name}` : `${folder}/${name}`;
}
