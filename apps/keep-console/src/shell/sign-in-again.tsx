import { Notice } from "@hearth-and-keep/page-design";
import type { Account, Session } from "@hearth-and-keep/vault-contract";
import { KeepProblem } from "../vault-api/api-client.ts";
import { useAnswer } from "../vault-api/use-query.ts";

export type SignInAgainProps = {
  readonly session: Session;
  /** What it is for, as in "make a token". */
  readonly purpose: string;
  /** Where to come back to; here unless told otherwise. */
  readonly returnTo?: string;
  /** Called right before the page is left, to keep what was typed so far. */
  readonly onLeave?: () => void;
};

/** Keep wants to know that it is still the same person: the provider they are signed in with is asked again. */
export function SignInAgain({ session, purpose, returnTo, onLeave }: SignInAgainProps) {
  const account = useAnswer<Account>("/api/account");
  const current =
    account.state === "there" ? account.body.identities.find((identity) => identity.is_current) : undefined;
  const back = returnTo ?? window.location.pathname + window.location.search;
  const providers = session.providers.filter(
    ({ kind }) => current === undefined || kind === current.provider,
  );
  return (
    <Notice>
      <div className="stack tight">
        <p>
          <strong>Sign in again</strong> to {purpose}. It has been a while, and Keep wants to be sure that it
          is you. You come back to this place.
        </p>
        {providers.map(({ kind, name }) => (
          <form
            key={kind}
            method="post"
            action={`/auth/confirm/${kind}?return_to=${encodeURIComponent(back)}`}
            onSubmit={onLeave}
          >
            <button type="submit" className="button main">
              Sign in again with {name}
            </button>
          </form>
        ))}
      </div>
    </Notice>
  );
}

export function needsFreshSignIn(problem: unknown): boolean {
  return problem instanceof KeepProblem && problem.code === "fresh_sign_in_required";
}
