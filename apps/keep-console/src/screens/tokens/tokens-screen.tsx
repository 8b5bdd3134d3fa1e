/**
 * @module
 * Secrets → Tokens: access tokens for programs. Tokens are created with a name, scopes and restrictions, listed without
 * their values, renamed, rotated and revoked. A token's value is in the document only while the dialog that shows it
 * once is open. Those of an organisation are shown with the same components.
 * Shown by `screens.tsx`; imported by the screens of organisations and trust rules.
 */
import { AddIcon, Link, useLocation } from "@hearth-and-keep/page-design";
import type { Session, Vault } from "@hearth-and-keep/vault-contract";
import { useRef } from "react";
import { useQuery } from "../../vault-api/use-query.ts";
import { accountTokens } from "./token-collection.ts";
import { TokensView } from "./tokens-view.tsx";

export default function TokensScreen({ session }: { readonly session: Session }) {
  const { query } = useLocation();
  const vaults = useQuery<readonly Vault[]>("/api/secrets/vaults?limit=200");
  const heading = useRef<HTMLHeadingElement>(null);
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
        {!isCreating && (
          <Link className="button primary" to="/secrets/tokens?new=token">
            <AddIcon />
            New token
          </Link>
        )}
      </div>
      <TokensView
        session={session}
        collection={accountTokens}
        vaults={vaults.state === "loaded" ? vaults.body : []}
        isCreating={isCreating}
        onValueClosed={() => heading.current?.focus()}
      />
    </>
  );
}
