import { Dialog as Base } from "@base-ui/react/dialog";
import { type ReactNode, useState } from "react";
import { CloseIcon } from "./icons.tsx";

export type DialogProps = {
  readonly title: string;
  readonly onClose: () => void;
  readonly shape?: "plain" | "wide" | "side";
  readonly children: ReactNode;
  /** What it is for, at the end of its last row. */
  readonly action?: ReactNode;
};

/** Stands in front of the page until it is closed, by Escape, a press outside or its button. */
export function Dialog({ title, onClose, shape = "plain", children, action }: DialogProps) {
  const [before] = useState(() => document.activeElement);
  // Keys open some without a button; then the page itself has the focus, which the library would take for no place.
  const giveBack = (): boolean => {
    if (!(before instanceof HTMLElement) || !before.isConnected) return true;
    queueMicrotask(() => before.focus());
    return false;
  };
  return (
    <Base.Root
      open
      onOpenChange={(isOpen) => {
        if (!isOpen) onClose();
      }}
    >
      <Base.Portal>
        <Base.Backdrop className="shade" />
        <Base.Popup className={`dialog ${shape}`} finalFocus={giveBack}>
          <div className="dialog-head">
            <Base.Title>{title}</Base.Title>
            <Base.Close className="button bare square" aria-label="Close">
              <CloseIcon />
            </Base.Close>
          </div>
          <div className="dialog-body">{children}</div>
          {action !== undefined && (
            <div className="dialog-ending">
              <Base.Close className="button">Cancel</Base.Close>
              {action}
            </div>
          )}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}
