import { CloseIcon, navigate } from "@hearth-and-keep/page-design";
import type { SecretMetadata } from "@hearth-and-keep/vault-contract";
import { SelectField, TextField } from "../../design/field.tsx";
import { useQuery } from "../../vault-api/use-query.ts";
import { secretPath } from "../secrets/api-paths.ts";
import type { LogId } from "./audit-record.ts";
import { filtersFor, findFilter } from "./event-filters.ts";
import { hrefOfLog, type LogSearch } from "./log-search.ts";
import type { ActorNames } from "./use-entity-names.ts";

export type SearchFieldsProps = {
  readonly logId: LogId;
  readonly search: LogSearch;
  /** To which the log belongs; undefined for a log of the person's own account. */
  readonly organisationId: string | undefined;
  readonly actors: ActorNames;
};

/** Narrows the log to a kind of event, an actor, days and a secret. */
export function SearchFields({ logId, search, organisationId, actors }: SearchFieldsProps) {
  const change = (changes: Partial<LogSearch>): void =>
    navigate(hrefOfLog(logId, { ...search, ...changes }), { replace: true });
  const { tokens, members } = actors;
  const people =
    organisationId === undefined
      ? [{ value: "session", label: "You" }]
      : [...members].map(([id, name]) => ({ value: `person:${id}`, label: name }));
  const programs = [...tokens].map(([id, name]) => ({ value: `token:${id}`, label: name }));
  const everyone = [
    { value: "", label: "Everyone" },
    ...people,
    { value: "server", label: "The server" },
    // From a link, or not among the names that were loaded.
    ...(isOffered(search.actor, [...people, ...programs])
      ? []
      : [{ value: search.actor, label: search.actor }]),
  ];
  return (
    <>
      <SelectField
        label="Show"
        value={findFilter(logId, search.show).id}
        options={filtersFor(logId).map(({ id, title }) => ({ value: id, label: title }))}
        onChange={(show) => change({ show })}
      />
      <SelectField
        label="By"
        value={search.actor}
        options={everyone}
        groups={programs.length === 0 ? [] : [{ label: "Tokens", options: programs }]}
        onChange={(actor) => change({ actor })}
      />
      <DayField label="From" value={search.from} max={search.to} onChange={(from) => change({ from })} />
      <DayField label="To" value={search.to} min={search.from} onChange={(to) => change({ to })} />
      {search.secret !== "" && (
        <SecretFilter logId={logId} secretId={search.secret} onClear={() => change({ secret: "" })} />
      )}
    </>
  );
}

function isOffered(actor: string, options: readonly { readonly value: string }[]): boolean {
  return actor === "" || actor === "server" || options.some(({ value }) => value === actor);
}

type DayFieldProps = {
  readonly label: string;
  readonly value: string;
  readonly min?: string;
  readonly max?: string;
  readonly onChange: (day: string) => void;
};

function DayField({ onChange, ...attributes }: DayFieldProps) {
  return <TextField type="date" {...attributes} onChange={(event) => onChange(event.currentTarget.value)} />;
}

type SecretFilterProps = {
  readonly logId: LogId;
  readonly secretId: string;
  readonly onClear: () => void;
};

function SecretFilter({ logId, secretId, onClear }: SecretFilterProps) {
  const secret = useQuery<SecretMetadata>(logId === "account" ? undefined : secretPath(logId, secretId));
  const name = secret.state === "loaded" ? secret.body.path : "one secret";
  return (
    <p className="row secret-filter">
      <span className="break-words">Only events of {name}</span>
      <button type="button" className="button ghost" onClick={onClear}>
        <CloseIcon />
        All secrets
      </button>
    </p>
  );
}
