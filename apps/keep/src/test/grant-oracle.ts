import type { Scope } from "../authorization/scopes.ts";
import type { TestGrant } from "./start-test-keep.ts";

/** One concrete request. */
export type Attempt = {
  readonly scope: Scope;
  readonly vault: string;
  readonly path: string;
  readonly address: string;
  readonly moment: number;
};

/** The implied scopes, written independently of the implementation. */
const scopesImpliedBy: Readonly<Record<Scope, readonly Scope[]>> = {
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
  "grants:read": ["grants:read", "vaults:read"],
  "grants:write": ["grants:write", "grants:read", "vaults:read"],
};

/** Whether a token with this grant may make the request, computed independently of the implementation. */
export function isAllowed(grant: TestGrant, attempt: Attempt): boolean {
  return (
    grant.scopes.some((scope) => scopesImpliedBy[scope].includes(attempt.scope)) &&
    (grant.vaultIds?.includes(attempt.vault) ?? true) &&
    (grant.paths?.some((pattern) => expressionOf(pattern).test(attempt.path)) ?? true) &&
    (grant.addresses?.some((range) => bitsOf(attempt.address).startsWith(prefixOf(range))) ?? true) &&
    (grant.expiresAt === undefined || attempt.moment < grant.expiresAt.getTime())
  );
}

/** Boundary values of everything in which a test's grants differ. */
export type Universe = {
  readonly scopes: readonly Scope[];
  readonly vaults: readonly string[];
  readonly paths: readonly string[];
  readonly addresses: readonly string[];
  readonly moments: readonly number[];
};

/**
 * Whether the parent allows everything that the child allows. A grant is a product of five sets and none of the child's
 * is empty, so it is enough to vary one dimension at a time around a request that the child allows.
 */
export function isSubset(child: TestGrant, parent: TestGrant, universe: Universe): boolean {
  const allowed = findAllowed(child, universe);
  return attemptsAround(allowed, universe).every(
    (attempt) => !isAllowed(child, attempt) || isAllowed(parent, attempt),
  );
}

function attemptsAround(attempt: Attempt, universe: Universe): readonly Attempt[] {
  return [
    ...universe.scopes.map((scope) => ({ ...attempt, scope })),
    ...universe.vaults.map((vault) => ({ ...attempt, vault })),
    ...universe.paths.map((path) => ({ ...attempt, path })),
    ...universe.addresses.map((address) => ({ ...attempt, address })),
    ...universe.moments.map((moment) => ({ ...attempt, moment })),
  ];
}

function findAllowed(grant: TestGrant, universe: Universe): Attempt {
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
    throw new Error("The universe contains nothing that this grant allows");
  }
  return { scope, path, address, vault: grant.vaultIds?.[0] ?? firstVault, moment: firstMoment };
}

const expressions = new Map<string, RegExp>();

function expressionOf(pattern: string): RegExp {
  const cached = expressions.get(pattern);
  if (cached !== undefined) return cached;
  const source = pattern.replaceAll("/**", "(/[^/]+)+").replaceAll("/*", "/[^/]+");
  const expression = new RegExp(`^${source}$`, "u");
  expressions.set(pattern, expression);
  return expression;
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

const bitsByAddress = new Map<string, string>();

/** The address as 128 binary digits; IPv4 addresses are mapped to IPv6. */
function bitsOf(address: string): string {
  const cached = bitsByAddress.get(address);
  if (cached !== undefined) return cached;
  const full = address.includes(":") ? address : `::ffff:${address}`;
  // URL parsing normalizes addresses to their shortest form without dots.
  const [start = "", end = ""] = new URL(`http://[${full}]`).hostname.slice(1, -1).split("::");
  const missing = 8 - groups(start).length - groups(end).length;
  const bits = [...groups(start), ...Array.from({ length: missing }, () => "0"), ...groups(end)]
    .map((group) => Number.parseInt(group, 16).toString(2).padStart(16, "0"))
    .join("");
  bitsByAddress.set(address, bits);
  return bits;
}
