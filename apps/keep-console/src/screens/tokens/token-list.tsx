import type { ApiToken, Vault } from "@hearth-and-keep/vault-contract";
import { ActionMenu, type MenuAction } from "../../design/menu.tsx";
import { formatTimeUntil, Timestamp } from "../../design/timestamp.tsx";
import { minimalScopes, scopeTitle } from "./scopes.ts";
import type { TokenAction, TokenCollection } from "./token-collection.ts";

export type TokenListProps = {
  readonly collection: TokenCollection;
  readonly tokens: readonly ApiToken[];
  readonly vaults: readonly Vault[];
  readonly onAct?: (action: TokenAction, token: ApiToken) => void;
};

export function TokenList({ collection, tokens, vaults, onAct }: TokenListProps) {
  return (
    <ul className="card tokens">
      {tokens.map((token) => (
        <li key={token.id} className="token">
          <div className="token-name">
            <strong className="break-words">{token.name}</strong>
            <span className="muted small">
              <code>{token.fingerprint}</code>, created <Timestamp at={token.created_at} />
              {token.created_by.startsWith("token:") && " by a token"}
            </span>
            {collection.describeOwner !== undefined && (
              <span className="muted small break-words">{collection.describeOwner(token)}</span>
            )}
          </div>
          <TokenPermissions token={token} vaults={vaults} />
          <TokenStatus token={token} />
          {onAct !== undefined && (
            <ActionMenu
              label={`More actions for ${token.name}`}
              actions={collection.actions.map((action) => ({
                ...menuActions[action],
                onSelect: () => onAct(action, token),
              }))}
            />
          )}
        </li>
      ))}
    </ul>
  );
}

const menuActions: Readonly<Record<TokenAction, Omit<MenuAction, "onSelect">>> = {
  rename: { label: "Rename" },
  rotate: { label: "Rotate" },
  revoke: { label: "Revoke", isDangerous: true },
};

function TokenPermissions({
  token,
  vaults,
}: {
  readonly token: ApiToken;
  readonly vaults: readonly Vault[];
}) {
  const nameOf = (id: string): string => vaults.find((vault) => vault.id === id)?.name ?? "Deleted vault";
  return (
    <div className="token-permissions">
      <Badges label="Scopes" texts={minimalScopes(new Set(token.scopes)).map(scopeTitle)} />
      <Badges label="Vaults" texts={(token.vault_ids ?? []).map(nameOf)} />
      <Badges label="Paths" texts={token.paths ?? []} isMono />
      <Badges label="IPs" texts={token.addresses ?? []} isMono />
    </div>
  );
}

const maxBadges = 4;

type BadgesProps = {
  readonly label: string;
  readonly texts: readonly string[];
  readonly isMono?: boolean;
};

/** The first few as badges, the rest as a count. */
function Badges({ label, texts, isMono = false }: BadgesProps) {
  if (texts.length === 0) return null;
  const rest = texts.slice(maxBadges);
  return (
    <div className="badges">
      <span className="muted small">{label}</span>
      <ul>
        {texts.slice(0, maxBadges).map((text, index) => (
          <li key={`${index} ${text}`}>
            <span className={isMono ? "badge mono" : "badge"} title={text}>
              {text}
            </span>
          </li>
        ))}
        {rest.length > 0 && (
          <li>
            <span className="badge" title={rest.join(", ")}>
              {rest.length} more
            </span>
          </li>
        )}
      </ul>
    </div>
  );
}

function TokenStatus({ token }: { readonly token: ApiToken }) {
  return (
    <div className="token-status small">
      {token.revoked_at === null ? <Expiry at={token.expires_at} /> : <Revoked token={token} />}
      <span className="muted break-words">
        {token.last_used_at === null ? (
          "Never used"
        ) : (
          <>
            Last used <Timestamp at={token.last_used_at} />
            {token.last_used_address !== null && ` from ${token.last_used_address}`}
          </>
        )}
      </span>
    </div>
  );
}

const soonMilliseconds = 14 * 86_400_000;

function Expiry({ at }: { readonly at: string | null }) {
  if (at === null) return <span className="badge warning">Never expires</span>;
  const left = Date.parse(at) - Date.now();
  if (left <= 0)
    return (
      <span className="badge danger">
        Expired&nbsp;
        <Timestamp at={at} />
      </span>
    );
  if (left < soonMilliseconds)
    return <span className="badge warning">Expires {formatTimeUntil(new Date(at), new Date())}</span>;
  return (
    <span>
      Expires <Timestamp at={at} />
    </span>
  );
}

const reasons = {
  asked: "",
  leaked: "reported as leaked",
  "account-deleted": "the account was deleted",
  "parent-revoked": "the token or trust rule that created it ended",
  "member-removed": "the member left the organisation",
  "vault-transferred": "its vault was transferred to another account",
} as const;

function Revoked({ token }: { readonly token: ApiToken }) {
  const reason = token.revoke_reason === null ? "" : reasons[token.revoke_reason];
  return (
    <span>
      Revoked {token.revoked_at !== null && <Timestamp at={token.revoked_at} />}
      {reason !== "" && `: ${reason}`}
    </span>
  );
}
