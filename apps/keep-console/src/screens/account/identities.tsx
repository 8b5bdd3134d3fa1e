import { navigate, useLocation } from "@hearth-and-keep/page-design";
import type { Account, Session } from "@hearth-and-keep/vault-contract";
import { useState } from "react";
import { Timestamp } from "../../design/timestamp.tsx";
import { LinkProvider } from "./link-provider.tsx";
import { type Identity, identityName, ProviderIcon, providerName } from "./providers.tsx";
import { UnlinkIdentity } from "./unlink-identity.tsx";

export type IdentitiesProps = { readonly session: Session; readonly account: Account };

export function Identities({ session, account }: IdentitiesProps) {
  const { query } = useLocation();
  const [unlinking, setUnlinking] = useState<Identity>();
  const { identities } = account;
  const unlinkedProviders = session.providers.filter(
    ({ kind }) => !identities.some(({ provider }) => provider === kind),
  );
  const linking = unlinkedProviders.find(({ kind }) => kind === query.get("link"));
  return (
    <section className="card" aria-labelledby="identities">
      <div className="section-header">
        <div>
          <h2 id="identities">Sign-in methods</h2>
          <p className="muted small">Each of these gives full access to this account.</p>
        </div>
        <div className="row">
          {unlinkedProviders.map(({ kind, name }) => (
            <button
              key={kind}
              type="button"
              className="button"
              onClick={() => navigate(`/account?link=${kind}`, { replace: true })}
            >
              Link {name}
            </button>
          ))}
        </div>
      </div>
      <ul className="account-rows" aria-labelledby="identities">
        {identities.map((identity) => (
          <IdentityRow
            key={identity.id}
            name={providerName(session, identity.provider)}
            identity={identity}
            isOnly={identities.length === 1}
            onUnlink={() => setUnlinking(identity)}
          />
        ))}
      </ul>
      {linking !== undefined && <LinkProvider session={session} provider={linking} />}
      {unlinking !== undefined && (
        <UnlinkIdentity session={session} identity={unlinking} onClose={() => setUnlinking(undefined)} />
      )}
    </section>
  );
}

type IdentityRowProps = {
  readonly name: string;
  readonly identity: Identity;
  readonly isOnly: boolean;
  readonly onUnlink: () => void;
};

function IdentityRow({ name, identity, isOnly, onUnlink }: IdentityRowProps) {
  const email = identity.login === null ? null : identity.email;
  return (
    <li>
      <ProviderIcon kind={identity.provider} />
      <div className="account-row-text">
        <div className="row">
          <strong className="break-words">{name}</strong>
          {identity.is_current && <span className="badge success">This session</span>}
        </div>
        <span className="break-words">
          {identityName(identity)}
          {email !== null && <span className="muted"> · {email}</span>}
        </span>
        <span className="muted small">
          Linked <Timestamp at={identity.created_at} />, last used <Timestamp at={identity.last_sign_in_at} />
        </span>
        {isOnly && (
          <span className="muted small">Your only sign-in method. To unlink it, link another first.</span>
        )}
      </div>
      {!isOnly && (
        <button type="button" className="button" aria-label={`Unlink ${name}`} onClick={onUnlink}>
          Unlink
        </button>
      )}
    </li>
  );
}
