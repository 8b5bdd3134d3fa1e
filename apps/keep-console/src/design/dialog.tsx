import { Dialog as Base } from "@base-ui/react/dialog";
import type { ReactNode } from "react";
import { keepFocus } from "./keep-focus.ts";

export type DialogProps = {
  readonly title: string;
  readonly isOpen: boolean;
  readonly isWide?: boolean;
  /** By the Escape key, a press outside, or the button that every dialog has. */
  readonly onClose: () => void;
  /** What is shown once must not vanish by a press beside it. */
  readonly staysOnOutsidePress?: boolean;
  readonly children: ReactNode;
};

export function Dialog({
  title,
  isOpen,
  isWide = false,
  onClose,
  staysOnOutsidePress,
  children,
}: DialogProps) {
  return (
    <Base.Root
      open={isOpen}
      disablePointerDismissal={staysOnOutsidePress ?? false}
      onOpenChange={(open) => {
        if (!open) onClose();
      }}
    >
      <Base.Portal>
        {/* Also over another dialog, which would run into this one. */}
        <Base.Backdrop className="shade" forceRender />
        <Base.Popup ref={keepFocus} className={isWide ? "dialog wide" : "dialog"}>
          <div className="stack">
            <Base.Title>{title}</Base.Title>
            {children}
          </div>
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}

/** The last row of a dialog: what it is for at the end, a way out before it. */
export function DialogEnding({ children }: { readonly children?: ReactNode }) {
  return (
    <div className="ending">
      <Base.Close className="button">{children === undefined ? "Close" : "Cancel"}</Base.Close>
      {children}
    </div>
  );
}
