import { Failed } from "@hearth-and-keep/page-design";
import { type FormEvent, type ReactNode, useState } from "react";
import { Dialog, DialogEnding } from "../../design/dialog.tsx";
import { TextField } from "../../design/field.tsx";
import { useDoing } from "../../vault-api/use-mutation.ts";
import { isChangedMeanwhile } from "./save-secret.ts";

export type NameDialogProps = {
  readonly title: string;
  readonly label: string;
  readonly hint?: ReactNode;
  readonly action: string;
  readonly first?: string;
  /** Said when what is there is not as it was taken to be. */
  readonly refusal?: string;
  /** Closes by itself when it is done. */
  readonly onDone: (name: string) => Promise<void>;
  readonly onClose: () => void;
};

const changedMeanwhile =
  "It changed in the meantime. Close this, look at it again, and repeat it if you still want to.";

/** Asks for one name or path: of a new vault or folder, or of where something goes. */
export function NameDialog(props: NameDialogProps) {
  const { title, label, hint, action, first = "", refusal = changedMeanwhile, onDone, onClose } = props;
  const [name, setName] = useState(first);
  const { run, isBusy, problem } = useDoing();
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    void run(async () => {
      await onDone(name.trim());
      onClose();
    });
  };
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
        {problem !== undefined && <Failed text={isChangedMeanwhile(problem) ? refusal : problem.message} />}
        <DialogEnding>
          <button type="submit" className="button main" disabled={isBusy}>
            {action}
          </button>
        </DialogEnding>
      </form>
    </Dialog>
  );
}
