import { ErrorNotice } from "@hearth-and-keep/page-design";
import type { Session } from "@hearth-and-keep/vault-contract";
import type { ApiError } from "../vault-api/api-client.ts";
import { requiresFreshSignIn, SignInAgain } from "./sign-in-again.tsx";

export type MutationErrorProps = {
  readonly session: Session;
  readonly error: ApiError | undefined;
  /** Completes "Sign in again to …". */
  readonly purpose: string;
  /** Called just before the browser leaves the page to sign in, to save what has been typed. */
  readonly onLeave?: () => void;
};

/** Why an action failed; if it needs a recent sign-in, the way to one. */
export function MutationError({ session, error, purpose, onLeave }: MutationErrorProps) {
  if (error === undefined) return null;
  if (requiresFreshSignIn(error))
    return <SignInAgain {...{ session, purpose }} {...(onLeave === undefined ? {} : { onLeave })} />;
  return <ErrorNotice text={error.message} />;
}
