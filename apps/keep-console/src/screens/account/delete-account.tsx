import { Failed, Link } from "@hearth-and-keep/page-design";
import type { Account, Session } from "@hearth-and-keep/vault-contract";
import { type FormEvent, useState } from "react";
import { Dialog, DialogEnding } from "../../design/dialog.tsx";
import { TextField } from "../../design/field.tsx";
import { needsFreshSignIn, SignInAgain } from "../../shell/sign-in-again.tsx";
import { ask } from "../../vault-api/api-client.ts";
import { useDoing } from "../../vault-api/use-mutation.ts";
import { forgetFirstSteps } from "../welcome/first-visit.ts";

export type DeleteAccountProps = { readonly session: Session; readonly account: Account };

export function DeleteAccount({ session, account }: DeleteAccountProps) {
  const [isAsking, setAsking] = useState(false);
  return (
    <section className="card" aria-labelledby="ending">
      <div className="account-head">
        <div>
          <h2 id="ending">Delete this account</h2>
          <p className="quiet small">With everything in it, for good.</p>
        </div>
        <button type="button" className="button" onClick={() => setAsking(true)}>
          Delete account…
        </button>
      </div>
      {isAsking && <DeleteDialog {...{ session, account }} onClose={() => setAsking(false)} />}
    </section>
  );
}

type DeleteDialogProps = DeleteAccountProps & { readonly onClose: () => void };

function DeleteDialog({ session, account, onClose }: DeleteDialogProps) {
  const [typed, setTyped] = useState("");
  const [mistake, setMistake] = useState<string>();
  const { isBusy, problem, run } = useDoing();
  const isStale = needsFreshSignIn(problem);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const isSame = typed === account.display_name;
    setMistake(isSame ? undefined : `Type ${account.display_name} to go on`);
    if (!isSame) return;
    void run(async () => {
      await ask("/api/account", { method: "DELETE", body: { confirm: typed } });
      forgetFirstSteps();
      window.location.assign("/sign-in");
    });
  };
  return (
    <Dialog title="Delete this account?" onClose={onClose}>
      <p>This ends at once and cannot be undone, not by us either:</p>
      <WhatEnds account={account} />
      <p className="quiet">
        Want to take your secrets along? <Link to="/secrets">Export them first</Link>. Who signs in again
        later begins a new, empty account.
      </p>
      <form className="stack" noValidate onSubmit={submit}>
        <TextField
          label={`Type ${account.display_name} to confirm`}
          autoComplete="off"
          spellCheck={false}
          maxLength={200}
          value={typed}
          mistake={mistake}
          onChange={(event) => setTyped(event.currentTarget.value)}
        />
        {problem !== undefined && !isStale && <Failed text={problem.message} />}
        <DialogEnding>
          <button type="submit" className="button bad" disabled={isBusy || isStale}>
            {isBusy ? "Deleting…" : "Delete account"}
          </button>
        </DialogEnding>
      </form>
      {isStale && <SignInAgain session={session} purpose="delete this account" returnTo="/account" />}
    </Dialog>
  );
}

function WhatEnds({ account: { holds, identities } }: { readonly account: Account }) {
  return (
    <ul className="points">
      <li>
        <strong>{say(holds.vaults, "vault")}</strong> with <strong>{say(holds.secrets, "secret")}</strong>,
        all their versions, and what was deleted in the last 30 days
      </li>
      <li>
        <strong>{say(holds.tokens, "token")}</strong>
        {holds.tokens > 0 && `: programs that use ${holds.tokens === 1 ? "it" : "them"} stop working`}
      </li>
      <li>
        <strong>{say(identities.length, "way")} to sign in</strong>, and every session
      </li>
      <li>What the audit logs say; only that the account was deleted, and when, stays</li>
    </ul>
  );
}

function say(count: number, thing: string): string {
  const many = count === 0 ? "No" : count.toLocaleString("en");
  return `${many} ${thing}${count === 1 ? "" : "s"}`;
}
