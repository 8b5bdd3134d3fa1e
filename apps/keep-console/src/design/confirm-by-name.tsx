import { type FormEvent, type ReactNode, useState } from "react";
import { DialogActions } from "./dialog.tsx";
import { TextField } from "./field.tsx";

export type ConfirmByNameProps = {
  /** What has to be typed. */
  readonly name: string;
  /** Label of the confirm button, and while the request runs. */
  readonly action: string;
  readonly busyAction: string;
  readonly isBusy: boolean;
  /** Whether the button is disabled for another reason. */
  readonly isBlocked?: boolean;
  readonly onConfirm: (typed: string) => void;
  /** Further fields, above the name. */
  readonly children?: ReactNode;
};

/** The last part of a dialog whose action cannot be undone: it needs the object's name. */
export function ConfirmByName(props: ConfirmByNameProps) {
  const { name, action, busyAction, isBusy, isBlocked = false, onConfirm, children } = props;
  const [typed, setTyped] = useState("");
  const [error, setError] = useState<string>();
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const isMatch = typed === name;
    setError(isMatch ? undefined : `Enter ${name} exactly as shown`);
    if (isMatch) onConfirm(typed);
  };
  return (
    <form className="stack" noValidate onSubmit={submit}>
      {children}
      <TextField
        label={`Type ${name} to confirm`}
        autoComplete="off"
        spellCheck={false}
        maxLength={255}
        value={typed}
        error={error}
        onChange={(event) => setTyped(event.currentTarget.value)}
      />
      <DialogActions>
        <button type="submit" className="button danger" disabled={isBusy || isBlocked}>
          {isBusy ? busyAction : action}
        </button>
      </DialogActions>
    </form>
  );
}
