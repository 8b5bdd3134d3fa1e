import { Dialog as Base } from "@base-ui/react/dialog";
import type { ReactNode } from "react";
import { CloseIcon } from "./icons.tsx";
import { keepFocus } from "./keep-focus.ts";

export type SidePanelProps = {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
};

/** One thing of a list in full, beside the list; on narrow screens it takes all of the room. */
export function SidePanel({ title, onClose, children }: SidePanelProps) {
  return (
    <Base.Root
      open
      onOpenChange={(open) => {
        if (!open) onClose();
      }}
    >
      <Base.Portal>
        <Base.Backdrop className="shade" />
        <Base.Popup ref={keepFocus} className="side-panel">
          <div className="side-panel-head">
            <Base.Title className="breaks">{title}</Base.Title>
            <Base.Close className="button bare square" aria-label="Close">
              <CloseIcon />
            </Base.Close>
          </div>
          {children}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}
