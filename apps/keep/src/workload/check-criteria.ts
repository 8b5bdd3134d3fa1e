import type { FieldError } from "../failures.ts";
import { type ClaimCondition, refusedEvent, type TokenCriteria, wildcardClaim } from "./trust-rule.ts";

/** Checked for every token, whatever the rule. */
const registeredClaims: ReadonlySet<string> = new Set(["iss", "aud", "exp", "nbf", "iat", "jti"]);

const digits = /^[0-9]{1,20}$/u;
const serviceAccount =
  /^system:serviceaccount:[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?:[a-z0-9][-.a-z0-9]{0,252}$/u;
/** The issuers of everybody's tokens: rules for them need the conditions of their provider. */
const publicIssuers = new Map([
  ["token.actions.githubusercontent.com", "github"],
  ["gitlab.com", "gitlab"],
]);

/** Why the criteria would accept more tokens than their author means, in words that say what to add. */
export function findUnsafeCriteria(criteria: TokenCriteria): readonly FieldError[] {
  const { conditions } = criteria;
  const names = conditions.map(({ claim }) => claim);
  return [
    ...checkIssuer(criteria),
    ...conditions.flatMap(checkCondition),
    ...names.flatMap((claim, index) =>
      names.indexOf(claim) === index
        ? []
        : [{ field: `conditions.${index}.claim`, reason: "must not be repeated; list all its values once" }],
    ),
    ...checkProvider(criteria),
  ];
}

function checkIssuer({ provider, issuer }: TokenCriteria): readonly FieldError[] {
  const url = URL.canParse(issuer) ? new URL(issuer) : undefined;
  const isPlain =
    url?.protocol === "https:" &&
    !/[?#@\\]/u.test(issuer) &&
    (url.href === issuer || url.href === `${issuer}/`);
  if (!isPlain) {
    const reason =
      "must be an https URL without a query, user, fragment or default port, in lower case as far as its host";
    return [{ field: "issuer", reason }];
  }
  const required = publicIssuers.get(url.hostname);
  return required === undefined || required === provider
    ? []
    : [{ field: "provider", reason: `must be ${required} for this issuer` }];
}

function checkCondition({ claim, values }: ClaimCondition, index: number): readonly FieldError[] {
  if (registeredClaims.has(claim)) {
    const reason = "must not be iss, aud, exp, nbf, iat or jti, which are always checked";
    return [{ field: `conditions.${index}.claim`, reason }];
  }
  const errorAt = (position: number, reason: string) => [
    { field: `conditions.${index}.values.${position}`, reason },
  ];
  return values.flatMap((value, position) => {
    const wildcard = value.indexOf("*");
    if (wildcard === -1) return [];
    if (claim !== wildcardClaim || wildcard !== value.length - 1)
      return errorAt(position, "must be exact: only a value of ref may end with *");
    return /^refs\/(?:heads|tags)\//u.test(value)
      ? []
      : errorAt(
          position,
          "must begin with refs/heads/ or refs/tags/: refs of pull requests, also from forks, would match",
        );
  });
}

function checkProvider(criteria: TokenCriteria): readonly FieldError[] {
  switch (criteria.provider) {
    case "github":
      return checkGitHub(criteria.conditions);
    case "gitlab":
      return checkGitLab(criteria.conditions);
    case "kubernetes":
      return requireCondition(criteria.conditions, {
        claim: "sub",
        pattern: serviceAccount,
        expected: "a condition on sub with whole names such as system:serviceaccount:NAMESPACE:NAME",
      });
    case "generic":
      return requireCondition(criteria.conditions, {
        claim: "sub",
        expected: "a condition on sub: without it, everybody with a token of this issuer matches",
      });
  }
}

function checkGitHub(conditions: readonly ClaimCondition[]): readonly FieldError[] {
  const events = valuesOf(conditions, "event_name") ?? [];
  const hasEnvironment = valuesOf(conditions, "environment") !== undefined;
  const hasRef = valuesOf(conditions, wildcardClaim) !== undefined;
  const errors = [
    ...requireCondition(conditions, {
      claim: "repository_id",
      pattern: digits,
      expected:
        "a condition on repository_id, a number: a name can be given to another repository (gh api repos/OWNER/NAME --jq .id)",
    }),
    ...requireCondition(conditions, {
      claim: "repository_owner_id",
      pattern: digits,
      expected: "a condition on repository_owner_id, a number (gh api users/OWNER --jq .id)",
    }),
  ];
  if (events.includes(refusedEvent)) {
    errors.push({
      field: "conditions",
      reason: `must not allow the event ${refusedEvent}: it runs the code of pull requests, also from forks`,
    });
  }
  if (!hasEnvironment && !(hasRef && events.length > 0)) {
    errors.push({
      field: "conditions",
      reason:
        "must contain a condition on environment, or conditions on ref and event_name: without them, pull requests match",
    });
  } else if (!hasEnvironment && events.some((event) => event.startsWith("pull_request"))) {
    errors.push({
      field: "conditions",
      reason:
        "must contain a condition on environment to allow events of pull requests: a closed one has the ref of its base branch",
    });
  }
  return errors;
}

function checkGitLab(conditions: readonly ClaimCondition[]): readonly FieldError[] {
  const isProtected = valuesOf(conditions, "ref_protected")?.every((value) => value === "true") === true;
  const hasEnvironment = valuesOf(conditions, "environment") !== undefined;
  return [
    ...requireCondition(conditions, {
      claim: "project_id",
      pattern: digits,
      expected: "a condition on project_id, a number: a path can be given to another project",
    }),
    ...(isProtected || hasEnvironment
      ? []
      : [
          {
            field: "conditions",
            reason:
              'must contain a condition on ref_protected with the value "true", or on environment: without them, every branch matches',
          },
        ]),
  ];
}

type Requirement = {
  readonly claim: string;
  /** Anything by default. */
  readonly pattern?: RegExp;
  readonly expected: string;
};

function requireCondition(
  conditions: readonly ClaimCondition[],
  { claim, pattern = /^/u, expected }: Requirement,
): FieldError[] {
  const isMet = valuesOf(conditions, claim)?.every((value) => pattern.test(value)) === true;
  return isMet ? [] : [{ field: "conditions", reason: `must contain ${expected}` }];
}

/** Undefined without a condition on the claim. */
function valuesOf(conditions: readonly ClaimCondition[], claim: string): readonly string[] | undefined {
  return conditions.find((condition) => condition.claim === claim)?.values;
}
