import type { ExchangeAttempts } from "@hearth-and-keep/vault-contract";
import { Timestamp } from "../../design/timestamp.tsx";

type Attempt = ExchangeAttempts["items"][number];

const refusalReasons: ReadonlyMap<string, string> = new Map([
  ["no-rule-for-issuer", "no rule has this issuer"],
  ["no-rule-matches", "no rule matches its claims"],
  ["already-exchanged", "it was exchanged before"],
  ["key-unknown", "the issuer does not publish its key"],
  ["signature-wrong", "the issuer did not sign it"],
  ["issuer-unavailable", "the issuer's keys cannot be read"],
  ["expired", "it has expired"],
  ["not-valid-yet", "it is not valid yet"],
  ["lifetime-too-long", "it is valid for too long"],
  ["claims-incomplete", "claims are missing"],
  ["algorithm-not-allowed", "its algorithm is not allowed"],
  ["header-not-allowed", "its header is not allowed"],
  ["scope-exceeded", "the requested scope is not within the rule's"],
  ["vault-missing", "a vault of the rule was deleted"],
  ["too-many-tokens", "too many tokens of rules are active"],
  ["rule-not-genuine", "the rule was changed in the database"],
]);

/** The last tokens that workloads presented, each with what does not match the rule. */
export function AttemptList({ items }: Pick<ExchangeAttempts, "items">) {
  if (items.length === 0)
    return (
      <p className="muted">
        No workload has presented a token yet. The last ones are compared with the rule here.
      </p>
    );
  return (
    <ul className="attempts" aria-label="Recent tokens">
      {items.map((attempt) => (
        <AttemptRow key={attempt.id} attempt={attempt} />
      ))}
    </ul>
  );
}

function AttemptRow({ attempt }: { readonly attempt: Attempt }) {
  const { at, subject, is_verified: isVerified, matches, mismatches, claims, reason } = attempt;
  return (
    <li className="attempt">
      <div className="row">
        {matches ? (
          <span className="badge success">Matches</span>
        ) : (
          <span className="badge warning">Does not match</span>
        )}
        {!isVerified && <span className="badge danger">Signature not verified</span>}
        <span className="muted small">
          <Timestamp at={at} />
          {reason === null ? ", exchanged" : `, refused: ${refusalReasons.get(reason) ?? reason}`}
        </span>
      </div>
      <code className="break-words">{subject}</code>
      {mismatches.length > 0 && (
        <ul className="bullets small" aria-label="What does not match">
          {mismatches.map((mismatch) => (
            <li key={`${mismatch.claim} ${mismatch.reason}`} className="break-words">
              <code>{mismatch.claim}</code> {mismatch.reason}
            </li>
          ))}
        </ul>
      )}
      {claims.length > 0 && (
        <details className="small">
          <summary>Claims</summary>
          <ul className="attempt-claims">
            {claims.map(({ claim, value }) => (
              <li key={claim} className="break-words">
                <code>
                  {claim}: {value}
                </code>
              </li>
            ))}
          </ul>
        </details>
      )}
    </li>
  );
}
