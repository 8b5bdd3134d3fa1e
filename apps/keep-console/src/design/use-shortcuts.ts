import { useEffect } from "react";

/**
 * Shortcuts by key, such as `n`; `mod+z` is Ctrl+Z, or ⌘Z on a Mac. Inactive while typing or while a dialog or menu is
 * open.
 */
export function useShortcuts(keys: Readonly<Record<string, () => void>>): void {
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      const action = keys[nameOf(event)];
      if (action === undefined || event.defaultPrevented || isTyping(event.target)) return;
      if (document.querySelector('[role="dialog"], [role="alertdialog"], [role="menu"]') !== null) return;
      event.preventDefault();
      action();
    };
    window.addEventListener("keydown", onKeyDown);
    return () => window.removeEventListener("keydown", onKeyDown);
  }, [keys]);
}

function nameOf({ key, ctrlKey, metaKey, altKey }: KeyboardEvent): string {
  return `${altKey ? "alt+" : ""}${ctrlKey || metaKey ? "mod+" : ""}${key}`;
}

const typing = 'input:not([type="checkbox"], [type="radio"]), textarea, select, [contenteditable]';

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches(typing);
}
