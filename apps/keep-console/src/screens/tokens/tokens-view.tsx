import { ErrorNotice, Loading, navigate } from "@hearth-and-keep/page-design";
import type { ApiToken, Session, Vault } from "@hearth-and-keep/vault-contract";
import { useState } from "react";
import { EmptyState } from "../../design/empty-state.tsx";
import { useQuery } from "../../vault-api/use-query.ts";
import { type IssuedToken, IssuedTokenDialog } from "./issued-token.tsx";
import { RenameToken } from "./rename-token.tsx";
import { RevokeToken } from "./revoke-token.tsx";
import { RevokedTokens } from "./revoked-tokens.tsx";
import { RotateToken } from "./rotate-token.tsx";
import type { TokenAction, TokenCollection } from "./token-collection.ts";
import { TokenForm } from "./token-form.tsx";
import { TokenList } from "./token-list.tsx";

type TokenPage = { readonly items: readonly ApiToken[]; readonly next_cursor?: string };
type ShownToken = { readonly issued: IssuedToken; readonly oldValueNote?: string };

export type TokensViewProps = {
  readonly session: Session;
  readonly collection: TokenCollection;
  /** To which tokens can be restricted. */
  readonly vaults: readonly Vault[];
  /** Shows the form instead of the list. */
  readonly isCreating: boolean;
  /** Called when the value of a token is no longer shown; the form that had the focus is gone by then. */
  readonly onValueClosed: () => void;
};

/** A list of tokens with their dialogs, or the form for a new one, and the value of a token once. */
export function TokensView({ session, collection, vaults, isCreating, onValueClosed }: TokensViewProps) {
  const [shown, setShown] = useState<ShownToken>();
  return (
    <>
      {isCreating ? (
        <TokenForm
          {...{ session, collection, vaults }}
          onIssued={(issued) => {
            setShown({ issued });
            navigate(collection.href, { replace: true });
          }}
        />
      ) : (
        <Tokens
          {...{ session, collection, vaults }}
          onIssued={(issued, oldValueNote) => setShown({ issued, oldValueNote })}
        />
      )}
      {shown !== undefined && (
        <IssuedTokenDialog
          {...shown}
          onDone={() => {
            setShown(undefined);
            setTimeout(onValueClosed);
          }}
        />
      )}
    </>
  );
}

type TokensProps = Omit<TokensViewProps, "isCreating" | "onValueClosed"> & {
  readonly onIssued: (issued: IssuedToken, oldValueNote: string) => void;
};

function Tokens({ session, collection, vaults, onIssued }: TokensProps) {
  const active = useQuery<TokenPage>(`${collection.apiPath}?limit=200`);
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
          {...{ collection, vaults }}
          onAct={(action, token) => setOpenDialog({ action, token })}
        />
      )}
      <RevokedTokens {...{ collection, vaults }} />
      {openDialog?.action === "rename" && (
        <RenameToken collection={collection} token={openDialog.token} onClose={close} />
      )}
      {openDialog?.action === "revoke" && (
        <RevokeToken collection={collection} token={openDialog.token} onClose={close} />
      )}
      {openDialog?.action === "rotate" && (
        <RotateToken
          token={openDialog.token}
          {...{ session, collection }}
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
