import { ErrorNotice } from "@hearth-and-keep/page-design";
import type { Change, ReviewedOperation, VaultDetail } from "@hearth-and-keep/vault-contract";
import { useQuery } from "../../vault-api/use-query.ts";
import { vaultPath } from "../secrets/api-paths.ts";
import { Countdown } from "../secrets/revealed-value.tsx";
import { formatBytes } from "../secrets/value-bytes.ts";
import { secretTypeLabels } from "../secrets/value-editor.tsx";
import { useAccess } from "../secrets/vault-access.ts";
import { describeSettings, operationLabel } from "./describe-change.ts";
import { useChangeValues } from "./use-change-values.ts";

export type ChangeContentsProps = { readonly vaultId: string; readonly change: Change };

/** The operations and settings of a pending change, in words; the values on demand. */
export function ChangeContents({ vaultId, change }: ChangeContentsProps) {
  const { operations = [], ...settings } = change;
  const vault = useQuery<VaultDetail>(vaultPath(vaultId));
  const lines = describeSettings(settings, vault.state === "loaded" ? vault.body : undefined);
  return (
    <>
      {operations.length > 0 && <Operations {...{ vaultId, change, operations }} />}
      {lines.length > 0 && (
        <section className="stack tight" aria-labelledby="change-settings">
          <h2 id="change-settings">Settings</h2>
          <ul className="bullets">
            {lines.map((line) => (
              <li key={line} className="break-words">
                {line}
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}

type OperationsProps = ChangeContentsProps & { readonly operations: readonly ReviewedOperation[] };

function Operations({ vaultId, change, operations }: OperationsProps) {
  const { allows } = useAccess();
  const { revealed, isLoading, error, timer, reveal } = useChangeValues(vaultId, change.id);
  const written = operations.filter(({ op }) => op === "put");
  const canReveal = written.length > 0 && written.every(({ path }) => allows("secrets:read", path));
  return (
    <section className="stack tight" aria-labelledby="change-operations">
      <h2 id="change-operations">What it does</h2>
      <ol className="operations" aria-labelledby="change-operations">
        {/* The order is part of the change, and a path can occur twice. */}
        {(revealed ?? operations).map((operation, index) => (
          <Operation key={`${index} ${operation.path}`} operation={operation} />
        ))}
      </ol>
      {canReveal && (
        <div className="row">
          {revealed === undefined ? (
            <>
              <button type="button" className="button" disabled={isLoading} onClick={() => void reveal()}>
                {isLoading ? "Revealing…" : "Reveal values"}
              </button>
              <span className="muted small">Recorded as a read in the audit log.</span>
            </>
          ) : (
            <Countdown timer={timer} />
          )}
        </div>
      )}
      {error !== undefined && <ErrorNotice text={error.message} />}
    </section>
  );
}

function Operation({ operation }: { readonly operation: ReviewedOperation }) {
  const { path, to, op, value, encoding, note_text: noteText } = operation;
  return (
    <li className="operation">
      <span className={op === "delete" ? "badge danger" : "badge"}>{operationLabel(operation)}</span>
      <div className="operation-text">
        <span className="mono break-words">{path}</span>
        {to !== undefined && (
          <span className="break-words">
            <span className="muted small">to </span>
            <span className="mono">{to}</span>
          </span>
        )}
        {op === "put" && <span className="muted small break-words">{describeContent(operation)}</span>}
        {value !== undefined && (
          <pre className="value" data-value aria-label={`New value of ${path}`}>
            {value}
          </pre>
        )}
        {encoding === "base64" && <span className="muted small">Shown as Base64.</span>}
        {noteText !== undefined && noteText !== "" && (
          <div className="note" data-value>
            <span className="muted small">Note</span>
            <p>{noteText}</p>
          </div>
        )}
      </div>
    </li>
  );
}

/** Tags and a note that the secret keeps are not mentioned. */
function describeContent({ type, size = 0, tags, note }: ReviewedOperation): string {
  return [
    type === undefined ? formatBytes(size) : `${secretTypeLabels[type]}, ${formatBytes(size)}`,
    ...(tags === undefined ? [] : [tags.length === 0 ? "no tags" : `tags: ${tags.join(", ")}`]),
    ...(note === undefined ? [] : [note === "written" ? "with a new note" : "note removed"]),
  ].join("; ");
}
