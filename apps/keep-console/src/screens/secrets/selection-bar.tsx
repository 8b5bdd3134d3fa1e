import { CloseIcon } from "@hearth-and-keep/page-design";
import { useMemo } from "react";
import { useShortcuts } from "../../design/use-shortcuts.ts";
import type { Scope } from "../tokens/scopes.ts";
import type { BulkDialog } from "./bulk-dialogs.tsx";
import { accessPathOf, type ListEntry } from "./list-row.tsx";
import type { Selection } from "./use-selection.ts";
import { maxRestored } from "./use-undo-delete.ts";
import { useAccess } from "./vault-access.ts";

export type SelectionBarProps = {
  readonly selection: Selection;
  readonly isDeleted: boolean;
  readonly onOpenDialog: (dialog: BulkDialog) => void;
};

type BulkAction = {
  readonly kind: BulkDialog["kind"];
  readonly label: string;
  readonly scope: Scope;
  /** Whether folders can be selected, too. */
  readonly includesFolders?: boolean;
};

const liveActions: readonly BulkAction[] = [
  { kind: "bulk-move", label: "Move…", scope: "secrets:write", includesFolders: true },
  { kind: "add-tag", label: "Add tag…", scope: "secrets:write" },
  { kind: "remove-tag", label: "Remove tag…", scope: "secrets:write" },
  { kind: "bulk-export", label: "Export…", scope: "secrets:read" },
  { kind: "bulk-delete", label: "Delete…", scope: "secrets:delete", includesFolders: true },
];
const deletedActions: readonly BulkAction[] = [
  { kind: "bulk-restore", label: "Restore…", scope: "secrets:write" },
];

/** What can be done with the selected rows. It follows the list in the tab order and stays at the edge of the window. */
export function SelectionBar({ selection, isDeleted, onOpenDialog }: SelectionBarProps) {
  const { entries, clear } = selection;
  const { allows } = useAccess();
  useShortcuts(useMemo(() => (entries.length === 0 ? {} : { Escape: clear }), [entries.length, clear]));
  const actions = (isDeleted ? deletedActions : liveActions).filter(
    (action) =>
      isPossible(action, entries) && entries.every((entry) => allows(action.scope, accessPathOf(entry))),
  );
  const isTooMany = entries.length > maxRestored;
  return (
    <section className={entries.length === 0 ? "visually-hidden" : "selection-bar"} aria-label="Selection">
      <p role="status" className="selection-count">
        {entries.length > 0 && `${entries.length} selected`}
        {isTooMany && `; at most ${maxRestored} can be changed at once`}
      </p>
      {entries.length > 0 && (
        <>
          {actions.map(({ kind, label }) => (
            <button
              key={kind}
              type="button"
              className="button small"
              disabled={isTooMany}
              onClick={() => onOpenDialog({ kind, entries })}
            >
              {label}
            </button>
          ))}
          <button
            type="button"
            className="button ghost square"
            aria-label="Clear selection"
            aria-keyshortcuts="Escape"
            onClick={clear}
          >
            <CloseIcon />
          </button>
        </>
      )}
    </section>
  );
}

function isPossible({ kind, includesFolders = false }: BulkAction, entries: readonly ListEntry[]): boolean {
  const secrets = entries.flatMap((entry) => (entry.kind === "secret" ? [entry.secret] : []));
  if (!includesFolders && secrets.length < entries.length) return false;
  if (kind === "remove-tag") return secrets.some(({ tags }) => tags.length > 0);
  // An export selects names in one folder, separated by commas.
  if (kind === "bulk-export")
    return secrets.every(({ folder, name }) => folder === secrets[0]?.folder && !name.includes(","));
  return true;
}
