import type { Scope } from "../authorization/scopes.ts";
import type { TestGrant } from "./start-test-keep.ts";

/** One concrete thing somebody may try. */
export type Trial = {
  readonly scope: Scope;
  readonly vault: string;
  readonly path: string;
  readonly address: string;
  readonly moment: number;
};

/** What each scope is enough for, written down once more and by hand. */
const enoughFor: Readonly<Record<Scope, readonly Scope[]>> = {
  "vaults:read": ["vaults:read"],
  "vaults:write": ["vaults:write", "vaults:read"],
  "vaults:delete": ["vaults:delete", "vaults:read"],
  "secrets:list": ["secrets:list", "vaults:read"],
  "secrets:read": ["secrets:read", "secrets:list", "vaults:read"],
  "secrets:write": ["secrets:write", "secrets:list", "vaults:read"],
  "secrets:delete": ["secrets:delete", "secrets:list", "vaults:read"],
  "secrets:destroy": ["secrets:destroy", "secrets:list", "vaults:read"],
  "tokens:read": ["tokens:read"],
  "tokens:write": ["tokens:write", "tokens:read"],
  "audit:read": ["audit:read"],
  "keys:rotate": ["keys:rotate", "vaults:read"],
};

/** Whether a token with this grant may, worked out in another way than the program does it. */
export function mayTry(grant: TestGrant, trial: Trial): boolean {
  return (
    grant.scopes.some((scope) => enoughFor[scope].includes(trial.scope)) &&
    (grant.vaultIds?.includes(trial.vault) ?? true) &&
    (grant.paths?.some((pattern) => expressionOf(pattern).test(trial.path)) ?? true) &&
    (grant.addresses?.some((range) => bitsOf(trial.address).startsWith(prefixOf(range))) ?? true) &&
    (grant.expiresAt === undefined || trial.moment < grant.expiresAt.getTime())
  );
}

/** Everything at the edges of what the grants of a test can differ in. */
export type Universe = {
  readonly scopes: readonly Scope[];
  readonly vaults: readonly string[];
  readonly paths: readonly string[];
  readonly addresses: readonly string[];
  readonly moments: readonly number[];
};

/**
 * Whether the child may nothing that the parent may not. A grant is a product of five sets and none of the child's is
 * empty, so it is enough to vary one at a time around something that the child may.
 */
export function isSubset(child: TestGrant, parent: TestGrant, universe: Universe): boolean {
  const allowed = oneAllowed(child, universe);
  return trialsAround(allowed, universe).every((trial) => !mayTry(child, trial) || mayTry(parent, trial));
}

function trialsAround(trial: Trial, universe: Universe): readonly Trial[] {
  return [
    ...universe.scopes.map((scope) => ({ ...trial, scope })),
    ...universe.vaults.map((vault) => ({ ...trial, vault })),
    ...universe.paths.map((path) => ({ ...trial, path })),
    ...universe.addresses.map((address) => ({ ...trial, address })),
    ...universe.moments.map((moment) => ({ ...trial, moment })),
  ];
}

function oneAllowed(grant: TestGrant, universe: Universe): Trial {
  const [scope] = grant.scopes;
  const [firstVault = ""] = universe.vaults;
  const [firstMoment = 0] = universe.moments;
  const path = universe.paths.find(
    (candidate) => grant.paths?.some((pattern) => expressionOf(pattern).test(candidate)) ?? true,
  );
  const address = universe.addresses.find(
    (candidate) => grant.addresses?.some((range) => bitsOf(candidate).startsWith(prefixOf(range))) ?? true,
  );
  if (scope === undefined || path === undefined || address === undefined) {
    throw new Error("The universe has nothing that this grant allows");
  }
  return { scope, path, address, vault: grant.vaultIds?.[0] ?? firstVault, moment: firstMoment };
}

const expressions = new Map<string, RegExp>();

function expressionOf(pattern: string): RegExp {
  const known = expressions.get(pattern);
  if (known !== undefined) return known;
  const source = pattern.replaceAll("/**", "(/[^/]+)+").replaceAll("/*", "/[^/]+");
  const made = new RegExp(`^${source}$`, "u");
  expressions.set(pattern, made);
  return made;
}

function prefixOf(range: string): string {
  const [address = "", length] = range.split("/");
  const width = address.includes(":") ? 128 : 32;
  const bits = bitsOf(address);
  return bits.slice(0, 128 - width + Number(length ?? width));
}

function groups(text: string): readonly string[] {
  return text.split(":").filter((group) => group !== "");
}

const written = new Map<string, string>();

/** 128 zeros and ones; an address of IPv4 is the one of IPv6 that stands for it. */
function bitsOf(address: string): string {
  const known = written.get(address);
  if (known !== undefined) return known;
  const full = address.includes(":") ? address : `::ffff:${address}`;
  // The parser of addresses in URLs writes every one in its shortest form, without dots.
  const [start = "", end = ""] = new URL(`http://[${full}]`).hostname.slice(1, -1).split("::");
  const missing = 8 - groups(start).length - groups(end).length;
  const bits = [...groups(start), ...Array.from({ length: missing }, () => "0"), ...groups(end)]
    .map((group) => Number.parseInt(group, 16).toString(2).padStart(16, "0"))
    .join("");
  written.set(address, bits);
  return bits;
}
