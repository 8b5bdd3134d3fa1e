/**
 * @module
 * The console's own components and theme (`theme.css`), beyond those in `page-design`. Every component works by keyboard
 * and with screen readers, and layouts do not jump when content arrives. Nothing here knows about vaults, secrets or
 * accounts.
 * Imported by the shell and by screens.
 */
import { Modal, ModalClose, type ModalProps, ModalTitle } from "@hearth-and-keep/page-design";
import type { ReactNode } from "react";

export type DialogProps = Omit<ModalProps, "className"> & {
  readonly title: string;
  readonly isWide?: boolean;
};

export function Dialog({ title, isWide = false, children, ...modal }: DialogProps) {
  return (
    <Modal {...modal} className={isWide ? "dialog wide" : "dialog"}>
      <div className="stack">
        <ModalTitle>{title}</ModalTitle>
        {children}
      </div>
    </Modal>
  );
}

/** The last row of a dialog: Cancel, then the action; Close when there is no action. */
export function DialogActions({ children }: { readonly children?: ReactNode }) {
  return (
    <div className="dialog-actions">
      <ModalClose className="button">{children === undefined ? "Close" : "Cancel"}</ModalClose>
      {children}
    </div>
  );
}
