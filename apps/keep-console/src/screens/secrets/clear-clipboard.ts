const clearAfterMilliseconds = 30_000;
let pending: AbortController | undefined;

/**
 * Clears the clipboard some time after a value was copied, unless something else was copied since. Browsers allow this
 * only to the page in focus, so if the user is elsewhere by then, it is cleared when they return.
 */
export function clearClipboardLater(text: string): void {
  pending?.abort();
  // Missing, like the digests, on pages served over plain HTTP from another machine.
  const clipboard: Clipboard | undefined = navigator.clipboard;
  if (clipboard === undefined) return;
  const controller = new AbortController();
  pending = controller;
  const { signal } = controller;
  // Only the digest is kept, so that the page does not hold the value.
  const digest = digestOf(text);
  let hasLeft = false;
  const clear = async (): Promise<void> => {
    if (!document.hasFocus()) return;
    controller.abort();
    await clearIfUnchanged(clipboard, { digest: await digest, hasLeft });
  };
  window.addEventListener("blur", () => (hasLeft = true), { signal });
  // What the user selects and copies on this page replaces the value.
  document.addEventListener("copy", () => controller.abort(), { signal });
  document.addEventListener("cut", () => controller.abort(), { signal });
  const timer = setTimeout(() => {
    window.addEventListener("focus", () => void clear().catch(ignoreRefusal), { signal });
    void clear().catch(ignoreRefusal);
  }, clearAfterMilliseconds);
  signal.addEventListener("abort", () => clearTimeout(timer));
}

/** Some browsers allow writing only right after a click or key press. */
function ignoreRefusal(): void {}

type CopyState = { readonly digest: string; readonly hasLeft: boolean };

/** A page that was in focus all the time knows what the clipboard holds; any other has to read it. */
async function clearIfUnchanged(clipboard: Clipboard, { digest, hasLeft }: CopyState): Promise<void> {
  const isUnchanged = (await mayRead()) ? (await digestOf(await clipboard.readText())) === digest : !hasLeft;
  if (isUnchanged) await clipboard.writeText("");
}

/** Whether the user has allowed it already; a prompt half a minute after the copy would surprise them. */
async function mayRead(): Promise<boolean> {
  try {
    // Missing from the type, because not every browser knows the name; those that do not reject it.
    const name = "clipboard-read" as PermissionName;
    return (await navigator.permissions.query({ name })).state === "granted";
  } catch {
    return false;
  }
}

async function digestOf(text: string): Promise<string> {
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return new Uint8Array(bytes).join();
}
