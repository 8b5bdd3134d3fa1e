import { CloseIcon, Modal, ModalClose, type ModalProps, ModalTitle } from "@hearth-and-keep/page-design";

export type SidePanelProps = Pick<ModalProps, "onClose" | "children"> & { readonly title: string };

/** Details of a list item, beside the list; on narrow screens it covers the whole width. */
export function SidePanel({ title, onClose, children }: SidePanelProps) {
  return (
    <Modal className="side-panel" onClose={onClose}>
      <div className="side-panel-header">
        <ModalTitle className="break-words">{title}</ModalTitle>
        <ModalClose className="button ghost square" aria-label="Close">
          <CloseIcon />
        </ModalClose>
      </div>
      {children}
    </Modal>
  );
}
