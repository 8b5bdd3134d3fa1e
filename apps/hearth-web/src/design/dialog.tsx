import { CloseIcon, Modal, ModalClose, type ModalProps, ModalTitle } from "@hearth-and-keep/page-design";
import type { ReactNode } from "react";

export type DialogProps = Pick<ModalProps, "onClose" | "children"> & {
  readonly title: string;
  readonly shape?: "plain" | "wide" | "side";
  /** The confirm button; without it the dialog has no action row. */
  readonly action?: ReactNode;
};

export function Dialog({ title, onClose, shape = "plain", children, action }: DialogProps) {
  return (
    <Modal className={`dialog ${shape}`} onClose={onClose}>
      <div className="dialog-header">
        <ModalTitle>{title}</ModalTitle>
        <ModalClose className="button ghost square" aria-label="Close">
          <CloseIcon />
        </ModalClose>
      </div>
      <div className="dialog-body">{children}</div>
      {action !== undefined && (
        <div className="dialog-actions">
          <ModalClose className="button">Cancel</ModalClose>
          {action}
        </div>
      )}
    </Modal>
  );
}
