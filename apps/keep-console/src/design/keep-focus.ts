/**
 * Of something that stands in front of the page: what has the focus there may be taken away, as a button is that was
 * replaced by another. Then the focus goes to the whole of it, instead of to nowhere.
 */
export function keepFocus(front: HTMLElement | null): (() => void) | undefined {
  if (front === null) return undefined;
  const watcher = new MutationObserver(() => {
    if (document.activeElement === document.body) front.focus();
  });
  watcher.observe(front, { childList: true, subtree: true });
  return () => watcher.disconnect();
}
