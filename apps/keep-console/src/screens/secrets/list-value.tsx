import type { SecretMetadata } from "@hearth-and-keep/vault-contract";
import type { ListedValue } from "./use-list-values.ts";
import { formatBytes } from "./value-bytes.ts";
import { secretTypeLabels } from "./value-editor.tsx";

export type ListValueProps = {
  readonly secret: SecretMetadata;
  readonly listed: ListedValue;
};

/** More than fits in a row. */
const maxLength = 200;

/** The value in the row of a secret, cut to one line. */
export function ListValue({ secret, listed }: ListValueProps) {
  switch (listed.kind) {
    case "hidden":
      return (
        <Placeholder label="Value hidden" className="muted">
          ••••••••
        </Placeholder>
      );
    case "unreadable":
      return (
        <Placeholder label="Value not available" className="muted">
          –
        </Placeholder>
      );
    case "binary":
      return (
        <span className="muted small">
          {secretTypeLabels[secret.type]}, {formatBytes(secret.size)}
        </span>
      );
    case "text":
      return listed.value === "" ? (
        <span className="muted small">Empty</span>
      ) : (
        <code className="truncate" data-value>
          {toOneLine(listed.value)}
        </code>
      );
  }
}

type PlaceholderProps = { readonly label: string; readonly className: string; readonly children: string };

function Placeholder({ label, className, children }: PlaceholderProps) {
  return (
    <>
      <span aria-hidden="true" className={className} title={label}>
        {children}
      </span>
      <span className="visually-hidden">{label}</span>
    </>
  );
}

/** Each line break as a sign, so that values of several lines can be recognized. */
function toOneLine(value: string): string {
  const start = value.slice(0, maxLength).replaceAll(/\r?\n/gu, "↵").toWellFormed();
  return value.length > maxLength ? `${start}…` : start;
}
