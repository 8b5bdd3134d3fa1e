import { ErrorNotice, Notice } from "@hearth-and-keep/page-design";
import type { Session } from "@hearth-and-keep/vault-contract";
import { type FormEvent, useState } from "react";
import { ConfirmContent } from "../../design/confirm-dialog.tsx";
import { Dialog, DialogActions } from "../../design/dialog.tsx";
import { SelectField, TextField } from "../../design/field.tsx";
import { useToasts } from "../../design/toasts.tsx";
import { useMutation } from "../../vault-api/use-mutation.ts";
import { ApprovalDialog } from "../approvals/approval-dialog.tsx";
import { useApproval } from "../approvals/use-approval.ts";
import { describeFailures, type PathFailure } from "./attempt-each.ts";
import {
  changeTags,
  deleteAll,
  deletionsOf,
  moveAll,
  movesOf,
  readTarget,
  selectedSecrets,
} from "./bulk-changes.ts";
import { ExportDialog } from "./export-dialog.tsx";
import { entryName, type ListEntry } from "./list-row.tsx";
import { NameDialog } from "./name-dialog.tsx";
import { restore, useUndoDelete } from "./use-undo-delete.ts";

/** A change of all selected rows. */
export type BulkDialog = {
  readonly kind: "bulk-move" | "add-tag" | "remove-tag" | "bulk-export" | "bulk-delete" | "bulk-restore";
  readonly entries: readonly ListEntry[];
};

export type BulkDialogsProps = {
  readonly session: Session;
  readonly vaultId: string;
  readonly folder: string;
  readonly dialog: BulkDialog;
  /** After a change, also one of which a part failed. */
  readonly onChanged: () => void;
  readonly onClose: () => void;
};

export default function BulkDialogs(props: BulkDialogsProps) {
  const { session, vaultId, dialog, onClose } = props;
  switch (dialog.kind) {
    case "bulk-delete":
      return <DeleteDialog {...props} />;
    case "bulk-move":
      return <MoveDialog {...props} />;
    case "add-tag":
    case "remove-tag":
      return <TagDialog {...props} />;
    case "bulk-restore":
      return <RestoreDialog {...props} />;
    case "bulk-export": {
      const secrets = selectedSecrets(dialog.entries);
      const names = secrets.map(({ name }) => name);
      return <ExportDialog {...{ session, vaultId, names, onClose }} folder={secrets[0]?.folder ?? "/"} />;
    }
  }
}

function DeleteDialog({ vaultId, dialog: { entries }, onChanged, onClose }: BulkDialogsProps) {
  const mutation = useMutation();
  const approval = useApproval();
  const { showToast } = useToasts();
  const showUndo = useUndoDelete(vaultId);
  const deleteOrPropose = async (): Promise<void> => {
    const target = await readTarget(vaultId, entries);
    const send = async (): Promise<void> => {
      const remaining = await deleteAll(vaultId, target);
      onChanged();
      onClose();
      if (remaining.length > 0) showToast(`Not deleted: ${describeFailures(remaining)}`);
      showUndo(`Deleted ${describeEntries(entries)}`, target);
    };
    await approval.attempt(send, () => ({ operations: deletionsOf(target) }));
  };
  return (
    <ApprovalDialog {...{ vaultId, approval, onClose }} title={`Delete ${describeEntries(entries)}?`}>
      <ConfirmContent
        action="Delete"
        mutation={mutation}
        onConfirm={() => void mutation.run(deleteOrPropose)}
      >
        <EntryNames entries={entries} />
        <p>
          Programs can no longer read them. Either all are deleted or none. You can restore the secrets from
          Recently deleted for 30 days.
        </p>
      </ConfirmContent>
    </ApprovalDialog>
  );
}

function MoveDialog({ vaultId, folder, dialog: { entries }, onChanged, onClose }: BulkDialogsProps) {
  const { showToast } = useToasts();
  return (
    <NameDialog
      title={`Move ${describeEntries(entries)}`}
      label="Folder"
      hint="Names stay. Programs that read a secret by its old path stop finding it."
      action="Move"
      initialName={folder}
      protection={{
        vaultId,
        propose: async (to) => ({ operations: movesOf(await readTarget(vaultId, entries), toFolder(to)) }),
      }}
      onClose={onClose}
      onSubmit={async (to) => {
        const remaining = await moveAll(vaultId, await readTarget(vaultId, entries), toFolder(to));
        onChanged();
        showToast(`Moved ${describeEntries(entries)} to ${toFolder(to)}`);
        if (remaining.length > 0) showToast(`Left behind: ${describeFailures(remaining)}`);
      }}
    />
  );
}

/** As the server reads it: a slash at the end does not matter, one at the beginning may be missing. */
function toFolder(text: string): string {
  return `/${text
    .split("/")
    .filter((name) => name !== "")
    .join("/")}`;
}

function TagDialog({ vaultId, dialog: { kind, entries }, onChanged, onClose }: BulkDialogsProps) {
  const secrets = selectedSecrets(entries);
  const tags = [...new Set(secrets.flatMap((secret) => secret.tags))].toSorted();
  const adds = kind === "add-tag";
  const [tag, setTag] = useState(adds ? "" : (tags[0] ?? ""));
  const [failures, setFailures] = useState<readonly PathFailure[]>([]);
  const { run, isBusy } = useMutation();
  const { showToast } = useToasts();
  const count = describeEntries(entries);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const name = tag.trim();
    void run(async () => {
      const failed = await changeTags(vaultId, secrets, (before) =>
        adds ? [...new Set([...before, name])] : before.filter((each) => each !== name),
      );
      onChanged();
      if (failed.length > 0) return setFailures(failed);
      showToast(adds ? `Added tag ${name} to ${count}` : `Removed tag ${name} from ${count}`);
      onClose();
    });
  };
  if (failures.length > 0)
    return <FailureDialog title="Not all tags were changed" failures={failures} onClose={onClose} />;
  return (
    <Dialog title={adds ? `Add a tag to ${count}` : `Remove a tag from ${count}`} onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        {adds ? (
          <TextField
            label="Tag"
            required
            autoComplete="off"
            spellCheck={false}
            maxLength={64}
            value={tag}
            onChange={(event) => setTag(event.currentTarget.value)}
          />
        ) : (
          <SelectField
            label="Tag"
            value={tag}
            onChange={setTag}
            options={tags.map((value) => ({ value, label: value }))}
          />
        )}
        <DialogActions>
          <button type="submit" className="button primary" disabled={isBusy}>
            {adds ? "Add tag" : "Remove tag"}
          </button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

function RestoreDialog({ vaultId, dialog: { entries }, onChanged, onClose }: BulkDialogsProps) {
  const mutation = useMutation();
  const [failures, setFailures] = useState<readonly PathFailure[]>([]);
  const { showToast } = useToasts();
  const restoreAll = async (): Promise<void> => {
    const failed = await restore(vaultId, { secrets: selectedSecrets(entries), folders: [] });
    onChanged();
    if (failed.length > 0) return setFailures(failed);
    showToast(`Restored ${describeEntries(entries)}`);
    onClose();
  };
  if (failures.length > 0)
    return <FailureDialog title="Not all secrets were restored" failures={failures} onClose={onClose} />;
  return (
    <Dialog title={`Restore ${describeEntries(entries)}?`} onClose={onClose}>
      <EntryNames entries={entries} />
      <p>They return to their old paths.</p>
      {mutation.error !== undefined && <ErrorNotice text={mutation.error.message} />}
      <DialogActions>
        <button
          type="button"
          className="button primary"
          disabled={mutation.isBusy}
          onClick={() => void mutation.run(restoreAll)}
        >
          Restore
        </button>
      </DialogActions>
    </Dialog>
  );
}

type FailureDialogProps = {
  readonly title: string;
  readonly failures: readonly PathFailure[];
  readonly onClose: () => void;
};

function FailureDialog({ title, failures, onClose }: FailureDialogProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      <Notice kind="error">
        <ul className="bullets" aria-label="Failed">
          {failures.map(({ path, reason }) => (
            <li key={path} className="break-words">
              <span className="mono">{path}</span>: {reason}
            </li>
          ))}
        </ul>
      </Notice>
      <DialogActions />
    </Dialog>
  );
}

const maxShownNames = 5;

function EntryNames({ entries }: Pick<BulkDialog, "entries">) {
  const others = entries.length - maxShownNames;
  return (
    <ul className="bullets">
      {entries.slice(0, maxShownNames).map((entry) => (
        <li key={entry.key} className="break-words">
          {entry.kind === "folder" ? `${entryName(entry)}, with all that is in it` : entry.secret.path}
        </li>
      ))}
      {others > 0 && <li>and {others} more</li>}
    </ul>
  );
}

function describeEntries(entries: readonly ListEntry[]): string {
  const secrets = selectedSecrets(entries).length;
  const folders = entries.length - secrets;
  return [
    ...(folders === 0 ? [] : [folders === 1 ? "1 folder" : `${folders} folders`]),
    ...(secrets === 0 ? [] : [secrets === 1 ? "1 secret" : `${secrets} secrets`]),
  ].join(" and ");
}
