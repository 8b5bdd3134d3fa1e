import { Link } from "@hearth-and-keep/page-design";
import type { Account, Session } from "@hearth-and-keep/vault-contract";
import { useState } from "react";
import { ConfirmByName } from "../../design/confirm-by-name.tsx";
import { Dialog } from "../../design/dialog.tsx";
import { MutationError } from "../../shell/mutation-error.tsx";
import { requiresFreshSignIn } from "../../shell/sign-in-again.tsx";
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
  const { isBusy, error, run } = useMutation();
  return (
    <Dialog title="Delete this account?" onClose={onClose}>
      <p>This takes effect immediately and cannot be undone. It deletes:</p>
      <DeletionSummary account={account} />
      <p className="muted">
        To keep your secrets, <Link to="/secrets">export them first</Link>. Signing in again creates a new,
        empty account.
      </p>
      <ConfirmByName
        name={account.display_name}
        action="Delete account"
        busyAction="Deleting…"
        isBusy={isBusy}
        isBlocked={requiresFreshSignIn(error)}
        onConfirm={(typed) => void run(() => deleteAccount(typed))}
      />
      <MutationError session={session} error={error} purpose="delete this account" />
    </Dialog>
  );
}

async function deleteAccount(confirm: string): Promise<void> {
  await request("/api/account", { method: "DELETE", body: { confirm } });
  clearFirstStepsOffered();
  window.location.assign("/sign-in");
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
