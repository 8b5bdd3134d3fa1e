import { ErrorNotice, Link, Loading, navigate } from "@hearth-and-keep/page-design";
import type { Vault } from "@hearth-and-keep/vault-contract";
import { useState } from "react";
import { EmptyState } from "../../design/empty-state.tsx";
import { SecretsIcon } from "../../design/icons.tsx";
import { Timestamp } from "../../design/timestamp.tsx";
import { request } from "../../vault-api/api-client.ts";
import { organisationPath } from "../../vault-api/member-names.ts";
import { invalidate, useQuery } from "../../vault-api/use-query.ts";
import { NameDialog } from "../secrets/name-dialog.tsx";
import { hrefOf } from "../secrets/secrets-location.ts";
import type { OrganisationTabProps } from "./organisation-tab.ts";
import { AddButton, SectionBar } from "./section-bar.tsx";

export function VaultsTab({ organisation }: OrganisationTabProps) {
  const path = `${organisationPath(organisation.id)}/vaults`;
  const vaults = useQuery<readonly Vault[]>(path);
  const [isCreating, setIsCreating] = useState(false);
  const items = vaults.state === "loaded" ? vaults.body : [];
  const canCreate = organisation.role !== "auditor";
  const add = canCreate && <AddButton label="New vault" onClick={() => setIsCreating(true)} />;
  return (
    <div className="stack">
      <SectionBar text="Vaults that belong to the organisation." action={items.length > 0 && add} />
      {vaults.state === "loading" && <Loading label="Loading vaults" />}
      {vaults.state === "failed" && <ErrorNotice text={vaults.error.message} onRetry={vaults.reload} />}
      {vaults.state === "loaded" && items.length === 0 && (
        <EmptyState title="No vaults yet" action={add}>
          {canCreate
            ? "No vault of this organisation is shared with you. Create one, then share it with members or teams."
            : "The organisation has no vaults."}
        </EmptyState>
      )}
      {items.length > 0 && <VaultRows vaults={items} />}
      {isCreating && (
        <NameDialog
          title="New vault"
          label="Name"
          hint="You manage it. No one else can read it until you share it."
          action="Create vault"
          maxLength={255}
          onClose={() => setIsCreating(false)}
          onSubmit={async (name) => {
            const { body } = await request<Vault>(path, { method: "POST", body: { name } });
            invalidate(path);
            navigate(hrefOf({ vaultId: body.id, isSharing: true }));
          }}
        />
      )}
    </div>
  );
}

function VaultRows({ vaults }: { readonly vaults: readonly Vault[] }) {
  return (
    <ul className="card records" aria-label="Vaults">
      {vaults.map(({ id, name, created_at }) => (
        <li key={id} className="record vault">
          <span className="record-name">
            <SecretsIcon />
            <Link className="break-words" to={hrefOf({ vaultId: id })}>
              {name}
            </Link>
          </span>
          <span className="record-date muted small">
            Created <Timestamp at={created_at} />
          </span>
          <Link
            className="button small"
            to={hrefOf({ vaultId: id, isSharing: true })}
            aria-label={`Access to ${name}`}
          >
            Access
          </Link>
        </li>
      ))}
    </ul>
  );
}
