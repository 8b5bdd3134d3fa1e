import { Dialog as Base } from "@base-ui/react/dialog";
import { type ReactNode, useState } from "react";

export type FrontProps = {
  /** How it lies in front of the page. */
  readonly className: string;
  /** By the Escape key, a press outside, or a button in it. */
  readonly onClose: () => void;
  /** What is shown once must not vanish by a press beside it. */
  readonly staysOnOutsidePress?: boolean;
  /** With its title among it. */
  readonly children: ReactNode;
};

/** What stands in front of the page until it is closed: dialogs and panels. The focus stays in it, and goes back. */
export function Front({ className, onClose, staysOnOutsidePress = false, children }: FrontProps) {
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
      disablePointerDismissal={staysOnOutsidePress}
      onOpenChange={(isOpen) => {
        if (!isOpen) onClose();
      }}
    >
      <Base.Portal>
        {/* Also over another one, which would run into this one. */}
        <Base.Backdrop className="shade" forceRender />
        <Base.Popup ref={keepFocus} className={className} finalFocus={giveBack}>
          {children}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}

export const FrontTitle = Base.Title;
export const FrontClose = Base.Close;

/**
 * What has the focus may be taken away, as a button is that was replaced by another. Then the focus goes to the whole
 * of what stands in front, instead of to nowhere.
 */
function keepFocus(front: HTMLElement | null): (() => void) | undefined {
  if (front === null) return undefined;
  const watcher = new MutationObserver(() => {
    if (document.activeElement === document.body) front.focus();
  });
  watcher.observe(front, { childList: true, subtree: true });
  return () => watcher.disconnect();
}
