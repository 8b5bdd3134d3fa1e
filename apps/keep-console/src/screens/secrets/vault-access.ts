import type { VaultAccess } from "@hearth-and-keep/vault-contract";
import { createContext, useContext } from "react";
import { impliedBy, type Scope } from "../tokens/scopes.ts";

/** What the person may do in the current vault. It only decides what is shown: the server checks every request. */
export type Access = {
  /** Undefined for a vault of the person's own account. */
  readonly organisationId: string | undefined;
  /** At a path of a secret; without one, whether it is allowed anywhere. */
  readonly allows: (scope: Scope, path?: string) => boolean;
};

/** A vault of the person's own account. */
export const fullAccess: Access = { organisationId: undefined, allows: () => true };

export const AccessContext = createContext<Access>(fullAccess);

export function useAccess(): Access {
  return useContext(AccessContext);
}

export function toAccess({ organisation_id: organisationId, permissions }: VaultAccess): Access {
  if (organisationId === null) return fullAccess;
  return {
    organisationId,
    allows: (scope, path) =>
      permissions.some(
        ({ scopes, paths }) =>
          (scopes.includes(scope) || impliedBy(scope, new Set(scopes)) !== undefined) &&
          (path === undefined || paths === null || paths.some((pattern) => matchesPattern(pattern, path))),
      ),
  };
}

/** `*` stands for one segment, and a final `**` for one or more. */
export function matchesPattern(pattern: string, path: string): boolean {
  const expected = pattern.split("/");
  const segments = path.split("/");
  const isOpen = expected.at(-1) === "**";
  const fixed = isOpen ? expected.slice(0, -1) : expected;
  const isLongEnough = isOpen ? segments.length > fixed.length : segments.length === fixed.length;
  return isLongEnough && fixed.every((segment, index) => segment === "*" || segment === segments[index]);
}
