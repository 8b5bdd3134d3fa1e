import { ErrorNotice, Link } from "@hearth-and-keep/page-design";
import type { Account, Session } from "@hearth-and-keep/vault-contract";
import { type FormEvent, useState } from "react";
import { Dialog, DialogActions } from "../../design/dialog.tsx";
import { TextField } from "../../design/field.tsx";
import { requiresFreshSignIn, SignInAgain } from "../../shell/sign-in-again.tsx";
import { request } from "../../vault-api/api-client.ts";
import { useMutation } from "../../vault-api/use-mutation.ts";
import { clearFirstStepsOffered } from "../welcome/first-visit.ts";

export type DeleteAccountProps = { readonly session: Session; readonly account: Account };

export function DeleteAccount({ session, account }: DeleteAccountProps) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <section className="card" aria-labelledby="delete-account">
      <div className="section-header">
        <div>
          <h2 id="delete-account">Delete account</h2>
          <p className="muted small">Permanently deletes the account and everything in it.</p>
        </div>
        <button type="button" className="button" onClick={() => setIsOpen(true)}>
          Delete account…
        </button>
      </div>
      {isOpen && <DeleteDialog {...{ session, account }} onClose={() => setIsOpen(false)} />}
    </section>
  );
}

type DeleteDialogProps = DeleteAccountProps & { readonly onClose: () => void };

function DeleteDialog({ session, account, onClose }: DeleteDialogProps) {
  const [typed, setTyped] = useState("");
  const [fieldError, setFieldError] = useState<string>();
  const { isBusy, error, run } = useMutation();
  const needsSignIn = requiresFreshSignIn(error);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const isMatch = typed === account.display_name;
    setFieldError(isMatch ? undefined : `Enter ${account.display_name} exactly as shown`);
    if (!isMatch) return;
    void run(async () => {
      await request("/api/account", { method: "DELETE", body: { confirm: typed } });
      clearFirstStepsOffered();
      window.location.assign("/sign-in");
    });
  };
  return (
    <Dialog title="Delete this account?" onClose={onClose}>
      <p>This takes effect immediately and cannot be undone. It deletes:</p>
      <DeletionSummary account={account} />
      <p className="muted">
        To keep your secrets, <Link to="/secrets">export them first</Link>. Signing in again creates a new,
        empty account.
      </p>
      <form className="stack" noValidate onSubmit={submit}>
        <TextField
          label={`Type ${account.display_name} to confirm`}
          autoComplete="off"
          spellCheck={false}
          maxLength={200}
          value={typed}
          error={fieldError}
          onChange={(event) => setTyped(event.currentTarget.value)}
        />
        {error !== undefined && !needsSignIn && <ErrorNotice text={error.message} />}
        <DialogActions>
          <button type="submit" className="button danger" disabled={isBusy || needsSignIn}>
            {isBusy ? "Deleting…" : "Delete account"}
          </button>
        </DialogActions>
      </form>
      {needsSignIn && <SignInAgain session={session} purpose="delete this account" returnTo="/account" />}
    </Dialog>
  );
}

function DeletionSummary({ account: { holds, identities } }: { readonly account: Account }) {
  return (
    <ul className="bullets">
      <li>
        <strong>{formatCount(holds.vaults, "vault")}</strong> with{" "}
        <strong>{formatCount(holds.secrets, "secret")}</strong>, all versions, and everything in Recently
        deleted
      </li>
      <li>
        <strong>{formatCount(holds.tokens, "token")}</strong>
        {holds.tokens > 0 && `: programs that use ${holds.tokens === 1 ? "it" : "them"} stop working`}
      </li>
      <li>
        <strong>{formatCount(identities.length, "sign-in method")}</strong> and all sessions
      </li>
      <li>The content of the audit logs; Keep retains only when the account was deleted</li>
    </ul>
  );
}

function formatCount(count: number, noun: string): string {
  const number = count === 0 ? "No" : count.toLocaleString("en");
  return `${number} ${noun}${count === 1 ? "" : "s"}`;
}
