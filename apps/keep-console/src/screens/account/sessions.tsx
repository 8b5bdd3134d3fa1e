import type { Session, SessionList } from "@hearth-and-keep/vault-contract";
import { useState } from "react";
import { ConfirmDialog } from "../../design/confirm-dialog.tsx";
import { BrowserIcon } from "../../design/icons.tsx";
import { Timestamp } from "../../design/timestamp.tsx";
import { useToasts } from "../../design/toasts.tsx";
import { signOut } from "../../shell/session.ts";
import { request } from "../../vault-api/api-client.ts";
import { useMutation } from "../../vault-api/use-mutation.ts";
import { invalidate } from "../../vault-api/use-query.ts";
import { describeBrowser } from "./describe-browser.ts";
import { type Identity, providerName } from "./providers.tsx";

type ListedSession = SessionList["items"][number];

export type SessionsProps = {
  readonly session: Session;
  readonly sessions: readonly ListedSession[];
  readonly identities: readonly Identity[];
};

export function Sessions({ session, sessions, identities }: SessionsProps) {
  const [target, setTarget] = useState<ListedSession | "others">();
  const others = sessions.filter(({ is_current }) => !is_current);
  const current = sessions.filter(({ is_current }) => is_current);
  const providerOf = ({ identity_id }: ListedSession): string | undefined => {
    const identity = identities.find(({ id }) => id === identity_id);
    return identity === undefined ? undefined : providerName(session, identity.provider);
  };
  return (
    <section className="card" aria-labelledby="sessions">
      <div className="section-header">
        <div>
          <h2 id="sessions">Active sessions</h2>
          <p className="muted small">Sign out any session you don't recognize.</p>
        </div>
        {others.length > 0 && (
          <button type="button" className="button" onClick={() => setTarget("others")}>
            Sign out all others
          </button>
        )}
      </div>
      <ul className="account-rows" aria-labelledby="sessions">
        {[...current, ...others].map((listed) => (
          <SessionRow
            key={listed.id}
            listed={listed}
            provider={providerOf(listed)}
            onSignOut={() => setTarget(listed)}
          />
        ))}
      </ul>
      {target !== undefined && (
        <SignOutDialog target={target} count={others.length} onClose={() => setTarget(undefined)} />
      )}
    </section>
  );
}

type SessionRowProps = {
  readonly listed: ListedSession;
  readonly provider: string | undefined;
  readonly onSignOut: () => void;
};

function SessionRow({ listed, provider, onSignOut }: SessionRowProps) {
  const browser = describeBrowser(listed.user_agent);
  return (
    <li>
      <BrowserIcon />
      <div className="account-row-text">
        <div className="row">
          <strong>{browser}</strong>
          {listed.is_current && <span className="badge success">This session</span>}
        </div>
        <span className="break-words">
          <span className="mono">{listed.address}</span>
          {provider !== undefined && ` · ${provider}`}
        </span>
        <span className="muted small">
          Signed in <Timestamp at={listed.created_at} />, last active <Timestamp at={listed.last_seen_at} />
        </span>
      </div>
      {listed.is_current ? (
        <button type="button" className="button" onClick={() => void signOut()}>
          Sign out
        </button>
      ) : (
        <button
          type="button"
          className="button"
          aria-label={`Sign out ${browser} at ${listed.address}`}
          onClick={onSignOut}
        >
          Sign out
        </button>
      )}
    </li>
  );
}

type SignOutDialogProps = {
  readonly target: ListedSession | "others";
  readonly count: number;
  readonly onClose: () => void;
};

function SignOutDialog({ target, count, onClose }: SignOutDialogProps) {
  const { showToast } = useToasts();
  const mutation = useMutation();
  const isAll = target === "others";
  const signOutTarget = (): void =>
    void mutation.run(async () => {
      await request(`/api/account/sessions${isAll ? "" : `/${target.id}`}`, { method: "DELETE" });
      invalidate("/api/account/sessions");
      onClose();
      showToast(isAll ? "All other sessions signed out" : "Session signed out");
    });
  return (
    <ConfirmDialog
      title={isAll ? "Sign out all other sessions?" : `Sign out ${describeBrowser(target.user_agent)}?`}
      action={isAll ? "Sign out all others" : "Sign out"}
      mutation={mutation}
      onConfirm={signOutTarget}
      onClose={onClose}
    >
      {isAll
        ? `${count === 1 ? "One browser is" : `${count} browsers are`} signed out immediately. Tokens keep working.`
        : `The browser at ${target.address} is signed out immediately. Tokens keep working.`}
    </ConfirmDialog>
  );
}
