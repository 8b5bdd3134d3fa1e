import { ErrorNotice, Notice } from "@hearth-and-keep/page-design";
import { type FormEvent, useState } from "react";
import { TextField } from "../../design/field.tsx";
import { useToasts } from "../../design/toasts.tsx";
import { request } from "../../vault-api/api-client.ts";
import { organisationPath } from "../../vault-api/member-names.ts";
import { useMutation } from "../../vault-api/use-mutation.ts";
import { invalidate } from "../../vault-api/use-query.ts";
import { DeleteOrganisation } from "./delete-organisation.tsx";
import type { OrganisationTabProps } from "./organisation-tab.ts";

export function SettingsTab(props: OrganisationTabProps) {
  if (props.organisation.role !== "owner") {
    return <Notice>Only owners can change the settings of this organisation.</Notice>;
  }
  return (
    <div className="stack account">
      <RenameForm key={props.organisation.name} {...props} />
      <DeleteOrganisation {...props} />
    </div>
  );
}

function RenameForm({ organisation }: OrganisationTabProps) {
  const [name, setName] = useState(organisation.name);
  const { showToast } = useToasts();
  const { isBusy, error, run } = useMutation();
  const isUnchanged = name.trim() === organisation.name;
  const rename = (event: FormEvent): void => {
    event.preventDefault();
    void run(async () => {
      await request(organisationPath(organisation.id), { method: "PATCH", body: { name: name.trim() } });
      invalidate("/api/organisations");
      showToast("Organisation renamed");
    });
  };
  return (
    <form className="card padded stack" aria-label="Rename" onSubmit={rename}>
      <TextField
        label="Name"
        hint="Members see it everywhere. Links and tokens stay the same."
        required
        autoComplete="off"
        maxLength={200}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      {error !== undefined && <ErrorNotice text={error.message} />}
      <div>
        <button type="submit" className="button primary" disabled={isBusy || isUnchanged}>
          Rename
        </button>
      </div>
    </form>
  );
}
