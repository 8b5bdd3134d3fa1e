/**
 * @module
 * Who has access to a vault of an organisation: the grants with their holders, roles and paths, new grants, and who can
 * read one path. Shows what the caller may change; the server decides all the same.
 * Imported by the secrets screen.
 */
import { AddIcon, ErrorNotice, Loading } from "@hearth-and-keep/page-design";
import type { VaultGrant } from "@hearth-and-keep/vault-contract";
import { useState } from "react";
import { AccountIcon, TeamIcon } from "../../design/icons.tsx";
import { SidePanel } from "../../design/side-panel.tsx";
import { useQuery } from "../../vault-api/use-query.ts";
import { vaultPath } from "../secrets/api-paths.ts";
import { useAccess } from "../secrets/vault-access.ts";
import { type GrantList, holderName, type SharingProps } from "./grant-list.ts";
import { PathReaders } from "./path-readers.tsx";
import { RemoveGrant } from "./remove-grant.tsx";
import { ShareDialog } from "./share-dialog.tsx";
import { vaultRoleLabel } from "./vault-roles.ts";

export default function AccessPanel(props: SharingProps & { readonly onClose: () => void }) {
  const { session, vault, onClose } = props;
  const { allows } = useAccess();
  const canSee = allows("grants:read");
  const grants = useQuery<GrantList>(canSee ? `${vaultPath(vault.id)}/grants` : undefined);
  const [isAdding, setIsAdding] = useState(false);
  const [removing, setRemoving] = useState<VaultGrant>();
  const canShare = allows("grants:write");
  if (!canSee) {
    return (
      <SidePanel title={`Access to ${vault.name}`} onClose={onClose}>
        <p>Only managers of this vault and owners of the organisation see who has access.</p>
      </SidePanel>
    );
  }
  return (
    <SidePanel title={`Access to ${vault.name}`} onClose={onClose}>
      <div className="stack">
        <p className="muted">
          Members and teams with whom this vault is shared. Owners of the organisation can change this list,
          but read only what is shared with them.
        </p>
        {canShare && (
          <div>
            <button type="button" className="button primary" onClick={() => setIsAdding(true)}>
              <AddIcon />
              Share
            </button>
          </div>
        )}
        {grants.state === "loading" && <Loading lines={3} label="Loading access" />}
        {grants.state === "failed" && <ErrorNotice text={grants.error.message} onRetry={grants.reload} />}
        {grants.state === "loaded" && (
          <Grants
            grants={grants.body.items}
            selfId={session.account.id}
            {...(canShare ? { onRemove: setRemoving } : {})}
          />
        )}
        <PathReaders vaultId={vault.id} />
      </div>
      {isAdding && <ShareDialog {...props} onClose={() => setIsAdding(false)} />}
      {removing !== undefined && (
        <RemoveGrant {...props} grant={removing} onClose={() => setRemoving(undefined)} />
      )}
    </SidePanel>
  );
}

type GrantsProps = {
  readonly grants: readonly VaultGrant[];
  readonly selfId: string;
  /** Absent for people who cannot share the vault. */
  readonly onRemove?: (grant: VaultGrant) => void;
};

function Grants({ grants, selfId, onRemove }: GrantsProps) {
  if (grants.length === 0) return <p>This vault is not shared with anyone.</p>;
  return (
    <ul className="panel-rows" aria-label="Access">
      {grants.map((grant) => {
        const name = holderName(grant);
        return (
          <li key={grant.id} className="grant">
            {grant.holder.type === "team" ? <TeamIcon /> : <AccountIcon />}
            <div className="grant-text">
              <div className="row">
                <strong className="break-words">{name}</strong>
                {grant.holder.type === "team" && <span className="badge">Team</span>}
                {grant.holder.id === selfId && <span className="badge success">You</span>}
              </div>
              <span className="muted small">{vaultRoleLabel(grant.role)}</span>
              <GrantPaths paths={grant.paths} />
            </div>
            {onRemove !== undefined && (
              <button
                type="button"
                className="button small"
                aria-label={`Remove the access of ${name} as ${vaultRoleLabel(grant.role).toLowerCase()}`}
                onClick={() => onRemove(grant)}
              >
                Remove
              </button>
            )}
          </li>
        );
      })}
    </ul>
  );
}

function GrantPaths({ paths }: Pick<VaultGrant, "paths">) {
  if (paths === null) return <span className="muted small">Whole vault</span>;
  return (
    <ul className="grant-paths" aria-label="Paths">
      {paths.map((path) => (
        <li key={path} className="badge mono break-words">
          {path}
        </li>
      ))}
    </ul>
  );
}
