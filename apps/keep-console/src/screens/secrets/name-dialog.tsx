import { ErrorNotice } from "@hearth-and-keep/page-design";
import { type FormEvent, type ReactNode, useState } from "react";
import { Dialog, DialogActions } from "../../design/dialog.tsx";
import { TextField } from "../../design/field.tsx";
import { useMutation } from "../../vault-api/use-mutation.ts";
import { isPreconditionFailed } from "./save-secret.ts";

export type NameDialogProps = {
  readonly title: string;
  readonly label: string;
  readonly hint?: ReactNode;
  readonly action: string;
  readonly initialName?: string;
  /** Shown when the request fails its precondition. */
  readonly conflictMessage?: string;
  /** The dialog closes when this resolves. */
  readonly onSubmit: (name: string) => Promise<void>;
  readonly onClose: () => void;
};

const defaultConflictMessage =
  "This changed in the meantime. Close the dialog, check the list and try again.";

/** Asks for one name or path: of a new vault or folder, or the target of a move. */
export function NameDialog(props: NameDialogProps) {
  const { title, label, hint, action, initialName = "", onSubmit, onClose } = props;
  const [name, setName] = useState(initialName);
  const { run, isBusy, error } = useMutation();
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    void run(async () => {
      await onSubmit(name.trim());
      onClose();
    });
  };
  const conflictMessage = props.conflictMessage ?? defaultConflictMessage;
  return (
    <Dialog title={title} onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <TextField
          label={label}
          hint={hint}
          required
          autoComplete="off"
          spellCheck={false}
          maxLength={2300}
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
