/**
 * @module
 * Uses of a secret by agents that do not see its value: the rule that says for what requests, and the route that returns the
 * value for one of them. Guarantees that a value is returned only for a request that the rule allows, after its use was
 * recorded.
 * Imported by `routes.ts`, and by `secrets/` to store and describe the rule.
 */
import type { EgressRule, ValueUse } from "@hearth-and-keep/vault-contract";
import { pathMatcher } from "../../authorization/path-patterns.ts";

/** As it is stored: its members in this order, so that the same rule is always the same text. */
export function formatEgressRule(rule: EgressRule | null): string | null {
  if (rule === null) return null;
  const { hosts, methods, paths, ask } = rule;
  return JSON.stringify({ hosts, methods, paths, ask });
}

export function parseEgressRule(text: string): EgressRule {
  // Only `formatEgressRule` writes it, and the secret's MAC covers it.
  return JSON.parse(text) as EgressRule;
}

/** Why the rule does not allow the request; undefined if it does. */
export function findObjection(rule: EgressRule | undefined, use: ValueUse): string | undefined {
  if (rule === undefined) return "The secret has no egress rule";
  if (!rule.hosts.includes(use.host)) return `Not one of its hosts: ${use.host}`;
  if (rule.methods !== undefined && !rule.methods.includes(use.method))
    return `Not one of its methods: ${use.method}`;
  if (hasDotSegments(use.path)) return "A path with . or .. is not accepted";
  const isPathAllowed = rule.paths === undefined || pathMatcher(rule.paths)(use.path);
  return isPathAllowed ? undefined : "None of its path patterns matches";
}

const maxDecodings = 4;

/**
 * Whether a server might see another path than the one that was compared: `..`, however often it is encoded, also with
 * parameters as in `..;/`.
 */
function hasDotSegments(path: string): boolean {
  let decoded = path;
  for (let count = 0; count < maxDecodings; count += 1) {
    if (decoded.split(/[/\\]/u).some((segment) => /^\.{1,2}(?:;|$)/u.test(segment))) return true;
    const next = decodeOnce(decoded);
    if (next === undefined || next === decoded) return next === undefined;
    decoded = next;
  }
  return true;
}

function decodeOnce(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
