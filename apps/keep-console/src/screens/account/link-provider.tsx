import { ErrorNotice, navigate } from "@hearth-and-keep/page-design";
import type { Session } from "@hearth-and-keep/vault-contract";
import { useRef, useState } from "react";
import { Dialog, DialogActions } from "../../design/dialog.tsx";
import { SignInAgain } from "../../shell/sign-in-again.tsx";
import { request } from "../../vault-api/api-client.ts";
import { useMutation } from "../../vault-api/use-mutation.ts";

export type LinkProviderProps = {
  readonly session: Session;
  readonly provider: Session["providers"][number];
};

/** The sign-in must stay fresh until the form post arrives. */
const marginSeconds = 5;

/** Explains linking, then posts the browser to the provider. */
export function LinkProvider({ session, provider: { kind, name } }: LinkProviderProps) {
  const form = useRef<HTMLFormElement>(null);
  const [needsSignIn, setNeedsSignIn] = useState(false);
  const { isBusy, error, run } = useMutation();
  const proceed = (): void =>
    void run(async () => {
      const { body } = await request<Session>("/api/session");
      if (body.fresh_seconds > marginSeconds) form.current?.submit();
      else setNeedsSignIn(true);
    });
  return (
    <Dialog title={`Link ${name}`} onClose={() => navigate("/account", { replace: true })}>
      <ul className="bullets">
        <li>You choose the identity at {name}. It can then sign in to this account.</li>
        <li>Link only identities that no one else can sign in with.</li>
        <li>Identities that already have a Keep account cannot be linked. Accounts are never merged.</li>
        <li>You can unlink it at any time.</li>
      </ul>
      {error !== undefined && <ErrorNotice text={error.message} />}
      {needsSignIn && (
        <SignInAgain session={session} purpose={`link ${name}`} returnTo={`/account?link=${kind}`} />
      )}
      <form
        ref={form}
        method="post"
        action={`/auth/link/${kind}?return_to=${encodeURIComponent(`/account?linked=${kind}`)}`}
      />
      <DialogActions>
        {!needsSignIn && (
          <button type="button" className="button primary" disabled={isBusy} onClick={proceed}>
            Continue to {name}
          </button>
        )}
      </DialogActions>
    </Dialog>
  );
}
