import { AddIcon, ErrorNotice, Link, Loading, navigate } from "@hearth-and-keep/page-design";
import type { Organisation } from "@hearth-and-keep/vault-contract";
import { useState } from "react";
import { EmptyState } from "../../design/empty-state.tsx";
import { OrganisationIcon } from "../../design/icons.tsx";
import { Timestamp } from "../../design/timestamp.tsx";
import { request } from "../../vault-api/api-client.ts";
import { invalidate, useQuery } from "../../vault-api/use-query.ts";
import { NameDialog } from "../secrets/name-dialog.tsx";
import { organisationHref } from "./organisation-location.ts";
import { roleLabel } from "./organisation-roles.ts";

type OrganisationItems = { readonly items: readonly Organisation[] };

const listPath = "/api/organisations";

export function OrganisationList() {
  const organisations = useQuery<OrganisationItems>(listPath);
  const [isCreating, setIsCreating] = useState(false);
  const items = organisations.state === "loaded" ? organisations.body.items : [];
  const create = (
    <button type="button" className="button primary" onClick={() => setIsCreating(true)}>
      <AddIcon />
      New organisation
    </button>
  );
  return (
    <>
      <div className="screen-header">
        <div>
          <h1>Organisations</h1>
          <p className="muted">Share vaults with the people you work with.</p>
        </div>
        {items.length > 0 && create}
      </div>
      {organisations.state === "loading" && <Loading label="Loading organisations" />}
      {organisations.state === "failed" && (
        <ErrorNotice text={organisations.error.message} onRetry={organisations.reload} />
      )}
      {organisations.state === "loaded" && items.length === 0 && (
        <EmptyState title="No organisations yet" action={create}>
          An organisation owns vaults that several people use. You invite members, group them in teams, and
          decide who may read or change which vault. Your personal vaults stay yours alone.
        </EmptyState>
      )}
      {items.length > 0 && <OrganisationRows organisations={items} />}
      {isCreating && <NewOrganisationDialog onClose={() => setIsCreating(false)} />}
    </>
  );
}

function OrganisationRows({ organisations }: { readonly organisations: readonly Organisation[] }) {
  return (
    <ul className="card records" aria-label="Organisations">
      {organisations.map(({ id, name, role, created_at }) => (
        <li key={id} className="record organisation">
          <span className="record-name">
            <OrganisationIcon />
            <Link className="break-words" to={organisationHref(id)}>
              {name}
            </Link>
          </span>
          <span className="badge">{roleLabel(role)}</span>
          <span className="record-date muted small">
            Created <Timestamp at={created_at} />
          </span>
        </li>
      ))}
    </ul>
  );
}

function NewOrganisationDialog({ onClose }: { readonly onClose: () => void }) {
  return (
    <NameDialog
      title="New organisation"
      label="Name"
      hint="Your company or project. You become its owner and can rename it later."
      action="Create organisation"
      maxLength={200}
      onClose={onClose}
      onSubmit={async (name) => {
        const { body } = await request<Organisation>(listPath, { method: "POST", body: { name } });
        invalidate(listPath);
        navigate(organisationHref(body.id));
      }}
    />
  );
}
