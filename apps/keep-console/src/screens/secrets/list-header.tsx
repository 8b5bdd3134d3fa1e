import type { SecretSort } from "@hearth-and-keep/vault-contract";
import type { ReactNode } from "react";
import { navigateTo, type SecretsLocation } from "./secrets-location.ts";
import type { Selection } from "./use-selection.ts";

export type ListHeaderProps = {
  readonly location: SecretsLocation;
  /** Of the loaded rows. */
  readonly count: number;
  readonly selection: Pick<Selection, "keys" | "toggleAll">;
  readonly hasValues: boolean;
};

export function ListHeader({ location, count, selection, hasValues }: ListHeaderProps) {
  const isPartial = selection.keys.size > 0 && selection.keys.size < count;
  const hasOrder = !location.isDeleted;
  return (
    <div role="rowgroup">
      <div className="list-header" role="row" aria-rowindex={1}>
        <div role="columnheader" className="list-select">
          <input
            type="checkbox"
            aria-label="Select all loaded rows"
            ref={(box) => {
              if (box !== null) box.indeterminate = isPartial;
            }}
            checked={selection.keys.size === count}
            onChange={selection.toggleAll}
          />
        </div>
        {hasOrder ? (
          <SortHeader location={location} first="name" second="-name">
            Name
          </SortHeader>
        ) : (
          <div role="columnheader">Name</div>
        )}
        {hasValues && (
          <div role="columnheader" className="wide-only">
            Value
          </div>
        )}
        <div role="columnheader" className="wide-only">
          Version
        </div>
        <div role="columnheader" className="wide-only">
          Tags
        </div>
        {hasOrder ? (
          <SortHeader location={location} first="-updated" second="updated">
            Updated
          </SortHeader>
        ) : (
          <div role="columnheader">Deleted</div>
        )}
        <div role="columnheader" className="wide-only">
          By
        </div>
        <div role="columnheader">
          <span className="visually-hidden">Actions</span>
        </div>
      </div>
    </div>
  );
}

type SortHeaderProps = {
  readonly location: SecretsLocation;
  /** The order after the first press, and after the next one. */
  readonly first: SecretSort;
  readonly second: SecretSort;
  readonly children: ReactNode;
};

function SortHeader({ location, first, second, children }: SortHeaderProps) {
  const { sort } = location;
  const isSorted = sort === first || sort === second;
  const direction = sort.startsWith("-") ? "descending" : "ascending";
  return (
    <div role="columnheader" {...(isSorted ? { "aria-sort": direction } : {})}>
      <button
        type="button"
        className="sort-button"
        onClick={() => navigateTo(location, { sort: sort === first ? second : first }, true)}
      >
        {children}
        <span aria-hidden="true">{isSorted ? (direction === "ascending" ? "↑" : "↓") : ""}</span>
      </button>
    </div>
  );
}
