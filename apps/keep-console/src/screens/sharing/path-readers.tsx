import { ErrorNotice, Loading } from "@hearth-and-keep/page-design";
import { type FormEvent, useState } from "react";
import { TextField } from "../../design/field.tsx";
import { useQuery } from "../../vault-api/use-query.ts";
import { formatQuery, vaultPath } from "../secrets/api-paths.ts";
import { type GrantList, holderName } from "./grant-list.ts";
import { vaultRoleLabel } from "./vault-roles.ts";

/** Answers for one path who can read it: every role includes reading. */
export function PathReaders({ vaultId }: { readonly vaultId: string }) {
  const [typed, setTyped] = useState("");
  const [path, setPath] = useState<string>();
  const [error, setError] = useState<string>();
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const text = typed.trim();
    const isValid = text.startsWith("/") && text.length > 1 && !text.endsWith("/");
    setError(isValid ? undefined : "Enter the path of a secret, e.g. /prod/DATABASE_URL");
    setPath(isValid ? text : undefined);
  };
  return (
    <section className="stack tight path-readers" aria-labelledby="path-readers">
      <h3 id="path-readers">Who can read this path?</h3>
      <form className="field-with-button" noValidate onSubmit={submit}>
        <TextField
          label="Path of a secret"
          placeholder="/prod/DATABASE_URL"
          autoComplete="off"
          spellCheck={false}
          maxLength={2400}
          value={typed}
          error={error}
          onChange={(event) => setTyped(event.currentTarget.value)}
        />
        <button type="submit" className="button">
          Check
        </button>
      </form>
      <div className="stack tight live" aria-live="polite">
        {path !== undefined && <Readers vaultId={vaultId} path={path} />}
      </div>
    </section>
  );
}

function Readers({ vaultId, path }: { readonly vaultId: string; readonly path: string }) {
  const grants = useQuery<GrantList>(`${vaultPath(vaultId)}/grants${formatQuery({ path })}`);
  if (grants.state === "loading") return <Loading lines={2} label="Checking" />;
  if (grants.state === "failed") return <ErrorNotice text={grants.error.message} onRetry={grants.reload} />;
  if (grants.body.items.length === 0)
    return (
      <p className="break-words">
        No one can read <code>{path}</code>.
      </p>
    );
  return (
    <>
      <p className="break-words">
        <code>{path}</code> can be read by
      </p>
      <ul className="bullets" aria-label="Readers">
        {grants.body.items.map((grant) => (
          <li key={grant.id} className="break-words">
            {grant.holder.type === "team" && "everyone in "}
            <strong>{holderName(grant)}</strong>{" "}
            <span className="muted">({vaultRoleLabel(grant.role).toLowerCase()})</span>
          </li>
        ))}
      </ul>
    </>
  );
}
