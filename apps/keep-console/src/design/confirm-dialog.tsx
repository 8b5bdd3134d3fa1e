import { ErrorNotice } from "@hearth-and-keep/page-design";
import type { ReactNode } from "react";
import type { Mutation } from "../vault-api/use-mutation.ts";
import { Dialog, DialogActions } from "./dialog.tsx";

export type ConfirmDialogProps = {
  /** A question that names the object, for example "Delete API_KEY?". */
  readonly title: string;
  /** Label of the confirm button. */
  readonly action: string;
  readonly mutation: Pick<Mutation, "isBusy" | "error">;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
  /** What will happen, and whether it can be undone. */
  readonly children: ReactNode;
};

export function ConfirmDialog({ title, onClose, ...content }: ConfirmDialogProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      <ConfirmContent {...content} />
    </Dialog>
  );
}

export type ConfirmContentProps = Omit<ConfirmDialogProps, "title" | "onClose">;

/** For a dialog that later shows something else. */
export function ConfirmContent({ action, mutation, onConfirm, children }: ConfirmContentProps) {
  return (
    <>
      <div className="break-words">{children}</div>
      {mutation.error !== undefined && <ErrorNotice text={mutation.error.message} />}
      <DialogActions>
        <button type="button" className="button danger" disabled={mutation.isBusy} onClick={onConfirm}>
          {action}
        </button>
      </DialogActions>
    </>
  );
}
