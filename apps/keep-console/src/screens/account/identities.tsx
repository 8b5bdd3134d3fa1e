import { go, useAddress } from "@hearth-and-keep/page-design";
import type { Account, Session } from "@hearth-and-keep/vault-contract";
import { useState } from "react";
import { ExactMoment } from "../../design/exact-moment.tsx";
import { LinkProvider } from "./link-provider.tsx";
import { type Identity, nameThere, ProviderMark, providerName } from "./providers.tsx";
import { UnlinkIdentity } from "./unlink-identity.tsx";

export type IdentitiesProps = { readonly session: Session; readonly account: Account };

export function Identities({ session, account }: IdentitiesProps) {
  const { query } = useAddress();
  const [unlinked, setUnlinked] = useState<Identity>();
  const { identities } = account;
  const missing = session.providers.filter(
    ({ kind }) => !identities.some(({ provider }) => provider === kind),
  );
  const linking = missing.find(({ kind }) => kind === query.get("link"));
  return (
    <section className="card" aria-labelledby="identities">
      <div className="account-head">
        <div>
          <h2 id="identities">Ways to sign in</h2>
          <p className="quiet small">Each of them opens this account and everything in it.</p>
        </div>
        <div className="row">
          {missing.map(({ kind, name }) => (
            <button
              key={kind}
              type="button"
              className="button"
              onClick={() => go(`/account?link=${kind}`, { replaces: true })}
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
            onUnlink={() => setUnlinked(identity)}
          />
        ))}
      </ul>
      {linking !== undefined && <LinkProvider session={session} provider={linking} />}
      {unlinked !== undefined && (
        <UnlinkIdentity session={session} identity={unlinked} onClose={() => setUnlinked(undefined)} />
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
      <ProviderMark kind={identity.provider} />
      <div className="account-row-words">
        <div className="row">
          <strong className="breaks">{name}</strong>
          {identity.is_current && <span className="badge good">Signed in with this</span>}
        </div>
        <span className="breaks">
          {nameThere(identity)}
          {email !== null && <span className="quiet"> · {email}</span>}
        </span>
        <span className="quiet small">
          Linked <ExactMoment at={identity.created_at} />, last used{" "}
          <ExactMoment at={identity.last_sign_in_at} />
        </span>
        {isOnly && (
          <span className="quiet small">The only way in: link another before you take it away.</span>
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
