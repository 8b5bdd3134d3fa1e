import { useEffect } from "react";

/** Single keys that do something wherever one is, unless something is being written or a dialog is open. */
export function useShortcuts(keys: Readonly<Record<string, () => void>>): void {
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      const action = keys[event.key];
      const isTaken = event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey;
      if (action === undefined || isTaken || isWriting(event.target)) return;
      if (document.querySelector('[role="dialog"], [role="alertdialog"], [role="menu"]') !== null) return;
      event.preventDefault();
      action();
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, [keys]);
}

function isWriting(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches("input, textarea, select, [contenteditable]");
}
