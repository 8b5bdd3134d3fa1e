import { Failed, go } from "@hearth-and-keep/page-design";
import type { Session } from "@hearth-and-keep/vault-contract";
import { useRef, useState } from "react";
import { Dialog, DialogEnding } from "../../design/dialog.tsx";
import { SignInAgain } from "../../shell/sign-in-again.tsx";
import { ask } from "../../vault-api/api-client.ts";
import { useDoing } from "../../vault-api/use-mutation.ts";

export type LinkProviderProps = {
  readonly session: Session;
  readonly provider: Session["providers"][number];
};

/** A form is sent at once, so the sign-in has to be fresh for a moment longer. */
const sparedSeconds = 5;

/** What linking means, and the way to the provider, which asks anew who one is there. */
export function LinkProvider({ session, provider: { kind, name } }: LinkProviderProps) {
  const form = useRef<HTMLFormElement>(null);
  const [isStale, setStale] = useState(false);
  const { isBusy, problem, run } = useDoing();
  const leave = (): void =>
    void run(async () => {
      const { body } = await ask<Session>("/api/session");
      if (body.fresh_seconds > sparedSeconds) form.current?.submit();
      else setStale(true);
    });
  return (
    <Dialog title={`Link ${name}`} onClose={() => go("/account", { replaces: true })}>
      <ul className="points">
        <li>
          You choose at {name} which identity it is. From then on it opens this account, vaults and all.
        </li>
        <li>Link only what is yours alone: whoever can sign in there can sign in here.</li>
        <li>
          An identity that has an account of its own in Keep is refused: two accounts are never made one.
        </li>
        <li>You can unlink it at any time.</li>
      </ul>
      {problem !== undefined && <Failed text={problem.message} />}
      {isStale && (
        <SignInAgain session={session} purpose={`link ${name}`} returnTo={`/account?link=${kind}`} />
      )}
      <form
        ref={form}
        method="post"
        action={`/auth/link/${kind}?return_to=${encodeURIComponent(`/account?linked=${kind}`)}`}
      />
      <DialogEnding>
        {!isStale && (
          <button type="button" className="button main" disabled={isBusy} onClick={leave}>
            Continue at {name}
          </button>
        )}
      </DialogEnding>
    </Dialog>
  );
}
