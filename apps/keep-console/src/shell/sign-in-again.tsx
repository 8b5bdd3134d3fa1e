import { Notice } from "@hearth-and-keep/page-design";
import type { Account, Session } from "@hearth-and-keep/vault-contract";
import { ApiError } from "../vault-api/api-client.ts";
import { useQuery } from "../vault-api/use-query.ts";

export type SignInAgainProps = {
  readonly session: Session;
  /** Completes "Sign in again to …", for example "create a token". */
  readonly purpose: string;
  /** Defaults to the current URL. */
  readonly returnTo?: string;
  /** Called just before the browser leaves the page, to save what has been typed. */
  readonly onLeave?: () => void;
};

/** Asks for a fresh sign-in at the provider of the current session, which sensitive actions require. */
export function SignInAgain({ session, purpose, returnTo, onLeave }: SignInAgainProps) {
  const account = useQuery<Account>("/api/account");
  const current =
    account.state === "loaded" ? account.body.identities.find((identity) => identity.is_current) : undefined;
  const destination = returnTo ?? window.location.pathname + window.location.search;
  const providers = session.providers.filter(
    ({ kind }) => current === undefined || kind === current.provider,
  );
  return (
    <Notice>
      <div className="stack tight">
        <p>
          <strong>Sign in again</strong> to {purpose}. This requires a recent sign-in. You will return to this
          page.
        </p>
        {providers.map(({ kind, name }) => (
          <form
            key={kind}
            method="post"
            action={`/auth/confirm/${kind}?return_to=${encodeURIComponent(destination)}`}
            onSubmit={onLeave}
          >
            <button type="submit" className="button primary">
              Sign in again with {name}
            </button>
          </form>
        ))}
      </div>
    </Notice>
  );
}

export function requiresFreshSignIn(error: unknown): boolean {
  return error instanceof ApiError && error.code === "fresh_sign_in_required";
}
