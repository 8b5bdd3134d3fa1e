import type { ApiToken, Vault } from "@hearth-and-keep/vault-contract";
import { ExactMoment, sayAhead } from "../../design/exact-moment.tsx";
import { Menu, type MenuChoice } from "../../design/menu.tsx";
import { least, titleOf } from "./scopes.ts";

export type TokenAction = "rename" | "rotate" | "revoke";

export type TokenListProps = {
  readonly tokens: readonly ApiToken[];
  readonly vaults: readonly Vault[];
  readonly onAct?: (action: TokenAction, token: ApiToken) => void;
};

export function TokenList({ tokens, vaults, onAct }: TokenListProps) {
  return (
    <ul className="card tokens">
      {tokens.map((token) => (
        <li key={token.id} className="token">
          <div className="token-name">
            <strong className="breaks">{token.name}</strong>
            <span className="quiet small">
              <code>{token.fingerprint}</code>, made <ExactMoment at={token.created_at} />
              {token.created_by.startsWith("token:") && " with a token"}
            </span>
          </div>
          <Allowed token={token} vaults={vaults} />
          <Life token={token} />
          {onAct !== undefined && <Menu label={`More for ${token.name}`} choices={choicesOf(token, onAct)} />}
        </li>
      ))}
    </ul>
  );
}

function choicesOf(
  token: ApiToken,
  onAct: (action: TokenAction, token: ApiToken) => void,
): readonly MenuChoice[] {
  return [
    { label: "Rename", onChoose: () => onAct("rename", token) },
    { label: "Rotate", onChoose: () => onAct("rotate", token) },
    { label: "Revoke", isDangerous: true, onChoose: () => onAct("revoke", token) },
  ];
}

function Allowed({ token, vaults }: { readonly token: ApiToken; readonly vaults: readonly Vault[] }) {
  const nameOf = (id: string): string => vaults.find((vault) => vault.id === id)?.name ?? "a deleted vault";
  return (
    <div className="token-allowed">
      <Badges label="May" texts={least(new Set(token.scopes)).map(titleOf)} />
      <Badges label="In" texts={(token.vault_ids ?? []).map(nameOf)} />
      <Badges label="Paths" texts={token.paths ?? []} isFixed />
      <Badges label="From" texts={token.addresses ?? []} isFixed />
    </div>
  );
}

const mostBadges = 4;

type BadgesProps = {
  readonly label: string;
  readonly texts: readonly string[];
  readonly isFixed?: boolean;
};

/** The first few by name, the rest by number. */
function Badges({ label, texts, isFixed = false }: BadgesProps) {
  if (texts.length === 0) return null;
  const rest = texts.slice(mostBadges);
  return (
    <div className="badges">
      <span className="quiet small">{label}</span>
      <ul>
        {texts.slice(0, mostBadges).map((text, place) => (
          <li key={`${place} ${text}`}>
            <span className={isFixed ? "badge fixed" : "badge"} title={text}>
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

function Life({ token }: { readonly token: ApiToken }) {
  return (
    <div className="token-life small">
      {token.revoked_at === null ? <Expiry at={token.expires_at} /> : <Revoked token={token} />}
      <span className="quiet breaks">
        {token.last_used_at === null ? (
          "Not used yet"
        ) : (
          <>
            Used <ExactMoment at={token.last_used_at} />
            {token.last_used_address !== null && ` from ${token.last_used_address}`}
          </>
        )}
      </span>
    </div>
  );
}

const soonMilliseconds = 14 * 86_400_000;

function Expiry({ at }: { readonly at: string | null }) {
  if (at === null) return <span className="badge warn">Never expires</span>;
  const left = Date.parse(at) - Date.now();
  if (left <= 0)
    return (
      <span className="badge bad">
        Expired&nbsp;
        <ExactMoment at={at} />
      </span>
    );
  if (left < soonMilliseconds)
    return <span className="badge warn">Expires {sayAhead(new Date(at), new Date())}</span>;
  return (
    <span>
      Expires <ExactMoment at={at} />
    </span>
  );
}

const reasons = {
  asked: "",
  leaked: "it was found in the open",
  "account-deleted": "the account was deleted",
  "parent-revoked": "the token it was made with was revoked",
} as const;

function Revoked({ token }: { readonly token: ApiToken }) {
  const reason = token.revoke_reason === null ? "" : reasons[token.revoke_reason];
  return (
    <span>
      Revoked {token.revoked_at !== null && <ExactMoment at={token.revoked_at} />}
      {reason !== "" && `: ${reason}`}
    </span>
  );
}
