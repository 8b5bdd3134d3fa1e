/**
 * @module
 * Secrets → Tokens: what programs sign in with. Tokens are made here with a name, scopes and limits, seen by
 * everything but their value, renamed, rotated and revoked. Promises that a value is on the page only while the dialog
 * that shows it once is open.
 * Shown by `screens.tsx`.
 */
import { AddIcon, Failed, go, Link, Loading, useAddress } from "@hearth-and-keep/page-design";
import type { ApiToken, Session, Vault } from "@hearth-and-keep/vault-contract";
import { useRef, useState } from "react";
import { Empty } from "../../design/empty.tsx";
import { useAnswer } from "../../vault-api/use-query.ts";
import { type IssuedToken, IssuedTokenDialog } from "./issued-token.tsx";
import { RenameToken } from "./rename-token.tsx";
import { RevokeToken } from "./revoke-token.tsx";
import { RevokedTokens } from "./revoked-tokens.tsx";
import { RotateToken } from "./rotate-token.tsx";
import { TokenForm } from "./token-form.tsx";
import { type TokenAction, TokenList } from "./token-list.tsx";

type TokenPage = { readonly items: readonly ApiToken[]; readonly next_cursor?: string };
type Shown = { readonly issued: IssuedToken; readonly oldValue?: string };

export default function TokensScreen({ session }: { readonly session: Session }) {
  const { query } = useAddress();
  const vaults = useAnswer<readonly Vault[]>("/api/secrets/vaults?limit=200");
  const [shown, setShown] = useState<Shown>();
  const head = useRef<HTMLHeadingElement>(null);
  const known = vaults.state === "there" ? vaults.body : [];
  const isMaking = query.has("new");
  return (
    <>
      <div className="screen-head">
        <div>
          <h1 ref={head} tabIndex={-1}>
            {isMaking ? "New token" : "Tokens"}
          </h1>
          <p className="quiet">
            {isMaking ? "A key of its own for one program." : "Keys for programs that use the API."}
          </p>
        </div>
        {!isMaking && <NewTokenLink />}
      </div>
      {isMaking ? (
        <TokenForm
          session={session}
          vaults={known}
          onIssued={(issued) => {
            setShown({ issued });
            go("/secrets/tokens", { replaces: true });
          }}
        />
      ) : (
        <Tokens
          session={session}
          vaults={known}
          onIssued={(issued, oldValue) => setShown({ issued, oldValue })}
        />
      )}
      {shown !== undefined && (
        <IssuedTokenDialog
          {...shown}
          onDone={() => {
            setShown(undefined);
            // What opened it is gone, so the focus goes to where one is now.
            setTimeout(() => head.current?.focus());
          }}
        />
      )}
    </>
  );
}

function NewTokenLink() {
  return (
    <Link className="button main" to="/secrets/tokens?new=token">
      <AddIcon />
      New token
    </Link>
  );
}

type TokensProps = {
  readonly session: Session;
  readonly vaults: readonly Vault[];
  readonly onIssued: (issued: IssuedToken, oldValue: string) => void;
};

function Tokens({ session, vaults, onIssued }: TokensProps) {
  const live = useAnswer<TokenPage>("/api/secrets/tokens?limit=200");
  const [asked, setAsked] = useState<{ readonly action: TokenAction; readonly token: ApiToken }>();
  const close = (): void => {
    setAsked(undefined);
    setTimeout(focusMain, focusMilliseconds);
  };
  if (live.state === "loading") return <Loading label="Loading the tokens" />;
  if (live.state === "failed") return <Failed text={live.problem.message} onRetry={live.reload} />;
  const newest = live.body.items.toReversed();
  return (
    <div className="stack">
      {newest.length === 0 ? (
        <Empty title="No tokens yet">
          A token lets one program use the API without you. Make one for each program, so that you can revoke
          them one by one.
        </Empty>
      ) : (
        <TokenList tokens={newest} vaults={vaults} onAct={(action, token) => setAsked({ action, token })} />
      )}
      <RevokedTokens vaults={vaults} />
      {asked?.action === "rename" && <RenameToken token={asked.token} onClose={close} />}
      {asked?.action === "revoke" && <RevokeToken token={asked.token} onClose={close} />}
      {asked?.action === "rotate" && (
        <RotateToken
          token={asked.token}
          session={session}
          onClose={close}
          onIssued={(issued, oldValue) => {
            close();
            onIssued(issued, oldValue);
          }}
        />
      )}
    </div>
  );
}

/** After a dialog has given the focus back. */
const focusMilliseconds = 100;

/** A revoked token's row is gone, and with it the button that the focus would go back to. */
function focusMain(): void {
  if (document.activeElement === document.body) document.getElementById("main")?.focus();
}
