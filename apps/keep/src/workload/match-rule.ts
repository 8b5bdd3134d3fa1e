import { refusedEvent, type TokenCriteria, wildcardClaim } from "./trust-rule.ts";

/** The payload of a token; own properties only. */
export type Claims = Readonly<Record<string, unknown>>;

export type Mismatch = { readonly claim: string; readonly reason: string };

/** What does not match the rule; empty if the token matches. Only a claim that is a string matches anything. */
export function findMismatches(
  { provider, issuer, conditions }: TokenCriteria,
  claims: Claims,
): readonly Mismatch[] {
  const event = claimOf(claims, "event_name");
  return [
    ...(claimOf(claims, "iss") === issuer ? [] : [{ claim: "iss", reason: "is not the rule's issuer" }]),
    // Also without a condition on it, because an environment may be open to every branch.
    ...(provider === "github" && event === refusedEvent
      ? [{ claim: "event_name", reason: `is ${refusedEvent}, which no rule accepts` }]
      : []),
    ...conditions.flatMap(({ claim, values }) => {
      const reason = explainMismatch(claim, values, claimOf(claims, claim));
      return reason === undefined ? [] : [{ claim, reason }];
    }),
  ];
}

function explainMismatch(claim: string, values: readonly string[], value: unknown): string | undefined {
  if (value === undefined) return "is not in the token";
  if (typeof value !== "string") return "is not a string";
  return values.some((allowed) => isMatch(claim, allowed, value))
    ? undefined
    : "is not a value that the rule allows";
}

function isMatch(claim: string, allowed: string, value: string): boolean {
  if (claim !== wildcardClaim || !allowed.endsWith("*")) return value === allowed;
  const prefix = allowed.slice(0, -1);
  return value.length > prefix.length && value.startsWith(prefix);
}

/** Never an inherited property. */
export function claimOf(claims: Claims, name: string): unknown {
  return Object.hasOwn(claims, name) ? claims[name] : undefined;
}
