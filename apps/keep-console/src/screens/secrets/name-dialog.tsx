import { ErrorNotice } from "@hearth-and-keep/page-design";
import { type FormEvent, type ReactNode, useState } from "react";
import { Dialog, DialogActions } from "../../design/dialog.tsx";
import { TextField } from "../../design/field.tsx";
import { useMutation } from "../../vault-api/use-mutation.ts";
import { ProposeForm } from "../approvals/approval-dialog.tsx";
import type { Proposal } from "../approvals/proposal.ts";
import { useApproval } from "../approvals/use-approval.ts";
import { isPreconditionFailed } from "./save-secret.ts";

export type NameDialogProps = {
  readonly title: string;
  readonly label: string;
  readonly hint?: ReactNode;
  readonly action: string;
  readonly initialName?: string;
  readonly maxLength?: number;
  /** Shown when the request fails its precondition. */
  readonly conflictMessage?: string;
  /** For what may be protected: what to propose when the request needs an approval. */
  readonly protection?: {
    readonly vaultId: string;
    readonly propose: (name: string) => Proposal | Promise<Proposal>;
  };
  /** The dialog closes when this resolves. */
  readonly onSubmit: (name: string) => Promise<void>;
  readonly onClose: () => void;
};

const defaultConflictMessage =
  "This changed in the meantime. Close the dialog, check the list and try again.";

/** Asks for one name or path: of a new vault or folder, or the target of a move. */
export function NameDialog(props: NameDialogProps) {
  const { title, label, hint, action, initialName = "", maxLength = 2300, protection } = props;
  const { onSubmit, onClose } = props;
  const [name, setName] = useState(initialName);
  const { run, isBusy, error } = useMutation();
  const { proposal, attempt, discard } = useApproval();
  const send = async (): Promise<void> => {
    await onSubmit(name.trim());
    onClose();
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    void run(() =>
      protection === undefined ? send() : attempt(send, () => protection.propose(name.trim())),
    );
  };
  const conflictMessage = props.conflictMessage ?? defaultConflictMessage;
  if (protection !== undefined && proposal !== undefined) {
    return (
      <Dialog title="Propose change" onClose={onClose}>
        <ProposeForm {...{ proposal, onClose }} vaultId={protection.vaultId} onBack={discard} />
      </Dialog>
    );
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <TextField
          label={label}
          hint={hint}
          required
          autoComplete="off"
          spellCheck={false}
          maxLength={maxLength}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        {error !== undefined && (
          <ErrorNotice text={isPreconditionFailed(error) ? conflictMessage : error.message} />
        )}
        <DialogActions>
          <button type="submit" className="button primary" disabled={isBusy}>
            {action}
          </button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
