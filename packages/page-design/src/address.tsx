import { type AnchorHTMLAttributes, type MouseEvent, useSyncExternalStore } from "react";

export type Address = { readonly path: string; readonly query: URLSearchParams };

const listeners = new Set<() => void>();
let last: { readonly href: string; readonly address: Address } | undefined;

/** The same object for as long as the address is the same. */
function read(): Address {
  const { href, pathname, search } = window.location;
  if (last?.href !== href) {
    last = { href, address: { path: pathname, query: new URLSearchParams(search) } };
  }
  return last.address;
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  window.addEventListener("popstate", listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener("popstate", listener);
  };
}

/** Where the person is, from the browser's bar. */
export function useAddress(): Address {
  return useSyncExternalStore(subscribe, read);
}

export function go(to: string, { replaces = false }: { readonly replaces?: boolean } = {}): void {
  if (replaces) window.history.replaceState(null, "", to);
  else window.history.pushState(null, "", to);
  for (const listener of listeners) listener();
}

export type LinkProps = Omit<AnchorHTMLAttributes<HTMLAnchorElement>, "href"> & { readonly to: string };

/** A real link: it can be opened in another tab, and is followed here otherwise. */
export function Link({ to, onClick, ...rest }: LinkProps) {
  const follow = (event: MouseEvent<HTMLAnchorElement>): void => {
    onClick?.(event);
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    go(to);
  };
  return <a {...rest} href={to} onClick={follow} />;
}
