import { Dialog as Base } from "@base-ui/react/dialog";
import { type ReactNode, useState } from "react";

export type ModalProps = {
  readonly className: string;
  /** Called on Escape, on a press outside, and by `ModalClose`. */
  readonly onClose: () => void;
  /** For content that must not disappear by accident. */
  readonly staysOpenOnOutsidePress?: boolean;
  /** Includes a `ModalTitle`. */
  readonly children: ReactNode;
};

/** Base of dialogs and panels: traps the focus while it is open and restores it afterwards. */
export function Modal({ className, onClose, staysOpenOnOutsidePress = false, children }: ModalProps) {
  const [previouslyFocused] = useState(() => document.activeElement);
  // Keyboard shortcuts open modals without a trigger; the focus is then on the body, which Base UI does not restore.
  const restoreFocus = (): boolean => {
    if (!(previouslyFocused instanceof HTMLElement) || !previouslyFocused.isConnected) return true;
    queueMicrotask(() => previouslyFocused.focus());
    return false;
  };
  return (
    <Base.Root
      open
      disablePointerDismissal={staysOpenOnOutsidePress}
      onOpenChange={(isOpen) => {
        if (!isOpen) onClose();
      }}
    >
      <Base.Portal>
        {/* Forced, so that a modal opened from another one has its own backdrop. */}
        <Base.Backdrop className="backdrop" forceRender />
        <Base.Popup ref={recoverLostFocus} className={className} finalFocus={restoreFocus}>
          {children}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}

export const ModalTitle = Base.Title;
export const ModalClose = Base.Close;

/** Focuses the popup when the focused element is removed from it, for example a button replaced by another. */
function recoverLostFocus(popup: HTMLElement | null): (() => void) | undefined {
  if (popup === null) return undefined;
  const observer = new MutationObserver(() => {
    if (document.activeElement === document.body) popup.focus();
  });
  observer.observe(popup, { childList: true, subtree: true });
  return () => observer.disconnect();
}
