import { DoneIcon, Link } from "@hearth-and-keep/page-design";
import type { VaultDetail } from "@hearth-and-keep/vault-contract";
import { useState } from "react";
import { CheckboxField } from "../../design/field.tsx";
import { InheritedIcon } from "../../design/icons.tsx";
import { hrefOf } from "../secrets/secrets-location.ts";
import type { Cell, MatrixRow } from "./environment-matrix.ts";

type MatrixTableProps = { readonly vault: VaultDetail; readonly rows: readonly MatrixRow[] };

const rowsPerPage = 200;

/** Names down, environments across. */
export function MatrixTable({ vault, rows }: MatrixTableProps) {
  const [isFiltered, setIsFiltered] = useState(false);
  const [maxRows, setMaxRows] = useState(rowsPerPage);
  const incomplete = rows.filter(({ isComplete }) => !isComplete);
  const shown = isFiltered ? incomplete : rows;
  return (
    <div className="stack tight">
      <div className="section-bar">
        <p role="status">{summarize(rows.length, incomplete.length)}</p>
        {incomplete.length > 0 && (
          <CheckboxField
            label="Only names with missing values"
            isChecked={isFiltered}
            onChange={setIsFiltered}
          />
        )}
      </div>
      {shown.length > 0 && (
        // Scrolls sideways on narrow screens, and so it can be focused.
        <section className="card matrix" aria-label="Secrets by environment" tabIndex={0}>
          <table>
            <thead>
              <tr>
                <th scope="col">Name</th>
                {vault.environments.map((name) => (
                  <th key={name} scope="col" className="break-words">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {shown.slice(0, maxRows).map((row) => (
                <Row key={row.name} vault={vault} row={row} />
              ))}
            </tbody>
          </table>
        </section>
      )}
      {shown.length > maxRows && (
        <div>
          <button type="button" className="button" onClick={() => setMaxRows(maxRows + rowsPerPage)}>
            Show more names
          </button>
        </div>
      )}
    </div>
  );
}

function summarize(count: number, incomplete: number): string {
  if (count === 0) return "The environments have no secrets yet.";
  const names = count === 1 ? "1 name" : `${count.toLocaleString("en")} names`;
  if (incomplete === 0) return `${names}. Every environment has a value for each.`;
  return `${names}, ${incomplete.toLocaleString("en")} of them with missing values.`;
}

function Row({ vault, row: { name, cells } }: { readonly vault: VaultDetail; readonly row: MatrixRow }) {
  return (
    <tr>
      <th scope="row" className="mono">
        {name}
      </th>
      {cells.map((cell, index) => (
        <td key={vault.environments[index]}>
          <CellContent {...{ vault, cell, name }} environment={vault.environments[index] ?? ""} />
        </td>
      ))}
    </tr>
  );
}

type CellContentProps = {
  readonly vault: VaultDetail;
  readonly cell: Cell;
  readonly name: string;
  readonly environment: string;
};

function CellContent({ vault, cell, name, environment }: CellContentProps) {
  switch (cell.state) {
    case "set":
      return (
        <Link
          className="cell set"
          to={hrefOf({ vaultId: vault.id, folder: cell.secret.folder, secretId: cell.secret.id })}
          aria-label={`Set: open ${name} of ${environment}`}
        >
          <DoneIcon />
          Set
        </Link>
      );
    case "inherited":
      return (
        <span className="cell muted" title={`From ${vault.base ?? ""}`}>
          <InheritedIcon />
          Inherited
        </span>
      );
    case "missing":
      return <span className="badge warning">Missing</span>;
  }
}
