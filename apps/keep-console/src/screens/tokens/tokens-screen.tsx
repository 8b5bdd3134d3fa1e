/**
 * @module
 * Secrets → Tokens: access tokens for programs. Tokens are created with a name, scopes and restrictions, listed without
 * their values, renamed, rotated and revoked. A token's value is in the document only while the dialog that shows it
 * once is open.
 * Shown by `screens.tsx`.
 */
import { AddIcon, ErrorNotice, Link, Loading, navigate, useLocation } from "@hearth-and-keep/page-design";
import type { ApiToken, Session, Vault } from "@hearth-and-keep/vault-contract";
import { useRef, useState } from "react";
import { EmptyState } from "../../design/empty-state.tsx";
import { useQuery } from "../../vault-api/use-query.ts";
import { type IssuedToken, IssuedTokenDialog } from "./issued-token.tsx";
import { RenameToken } from "./rename-token.tsx";
import { RevokeToken } from "./revoke-token.tsx";
import { RevokedTokens } from "./revoked-tokens.tsx";
import { RotateToken } from "./rotate-token.tsx";
import { TokenForm } from "./token-form.tsx";
import { type TokenAction, TokenList } from "./token-list.tsx";

type TokenPage = { readonly items: readonly ApiToken[]; readonly next_cursor?: string };
type ShownToken = { readonly issued: IssuedToken; readonly oldValueNote?: string };

export default function TokensScreen({ session }: { readonly session: Session }) {
  const { query } = useLocation();
  const vaults = useQuery<readonly Vault[]>("/api/secrets/vaults?limit=200");
  const [shown, setShown] = useState<ShownToken>();
  const heading = useRef<HTMLHeadingElement>(null);
  const vaultList = vaults.state === "loaded" ? vaults.body : [];
  const isCreating = query.has("new");
  return (
    <>
      <div className="screen-header">
        <div>
          <h1 ref={heading} tabIndex={-1}>
            {isCreating ? "New token" : "Tokens"}
          </h1>
          <p className="muted">
            {isCreating ? "An access token for one program." : "Access tokens for programs that use the API."}
          </p>
        </div>
        {!isCreating && <NewTokenLink />}
      </div>
      {isCreating ? (
        <TokenForm
          session={session}
          vaults={vaultList}
          onIssued={(issued) => {
            setShown({ issued });
            navigate("/secrets/tokens", { replace: true });
          }}
        />
      ) : (
        <Tokens
          session={session}
          vaults={vaultList}
          onIssued={(issued, oldValueNote) => setShown({ issued, oldValueNote })}
        />
      )}
      {shown !== undefined && (
        <IssuedTokenDialog
          {...shown}
          onDone={() => {
            setShown(undefined);
            // The form that opened the dialog is gone, so the focus goes to the heading.
            setTimeout(() => heading.current?.focus());
          }}
        />
      )}
    </>
  );
}

function NewTokenLink() {
  return (
    <Link className="button primary" to="/secrets/tokens?new=token">
      <AddIcon />
      New token
    </Link>
  );
}

type TokensProps = {
  readonly session: Session;
  readonly vaults: readonly Vault[];
  readonly onIssued: (issued: IssuedToken, oldValueNote: string) => void;
};

function Tokens({ session, vaults, onIssued }: TokensProps) {
  const active = useQuery<TokenPage>("/api/secrets/tokens?limit=200");
  const [openDialog, setOpenDialog] = useState<{ readonly action: TokenAction; readonly token: ApiToken }>();
  const close = (): void => {
    setOpenDialog(undefined);
    setTimeout(focusMain, focusMilliseconds);
  };
  if (active.state === "loading") return <Loading label="Loading tokens" />;
  if (active.state === "failed") return <ErrorNotice text={active.error.message} onRetry={active.reload} />;
  const newest = active.body.items.toReversed();
  return (
    <div className="stack">
      {newest.length === 0 ? (
        <EmptyState title="No tokens yet">
          A token gives one program access to the API. Create one per program, so that you can revoke them
          individually.
        </EmptyState>
      ) : (
        <TokenList
          tokens={newest}
          vaults={vaults}
          onAct={(action, token) => setOpenDialog({ action, token })}
        />
      )}
      <RevokedTokens vaults={vaults} />
      {openDialog?.action === "rename" && <RenameToken token={openDialog.token} onClose={close} />}
      {openDialog?.action === "revoke" && <RevokeToken token={openDialog.token} onClose={close} />}
      {openDialog?.action === "rotate" && (
        <RotateToken
          token={openDialog.token}
          session={session}
          onClose={close}
          onIssued={(issued, oldValueNote) => {
            close();
            onIssued(issued, oldValueNote);
          }}
        />
      )}
    </div>
  );
}

/** Runs after the dialog has restored the focus. */
const focusMilliseconds = 100;

/** The row of a revoked token is removed, including the button that had the focus before. */
function focusMain(): void {
  if (document.activeElement === document.body) document.getElementById("main")?.focus();
}
