/**
 * @module
 * Where the person is: the address in the browser's bar, as a value that screens are chosen by, and links that change
 * it without loading the page anew. No value of a secret is ever in an address.
 * Imported by the shell and by screens.
 */
import { type AnchorHTMLAttributes, type ReactNode, useSyncExternalStore } from "react";

export type Address = { readonly path: string; readonly query: URLSearchParams };

const listeners = new Set<() => void>();
let current = read();

function read(): Address {
  return { path: window.location.pathname, query: new URLSearchParams(window.location.search) };
}

function settle(): void {
  current = read();
  for (const listener of listeners) listener();
}

window.addEventListener("popstate", settle);

export function go(to: string, { replaces = false }: { readonly replaces?: boolean } = {}): void {
  if (replaces) window.history.replaceState(null, "", to);
  else window.history.pushState(null, "", to);
  settle();
}

export function useAddress(): Address {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => current,
  );
}

export type LinkProps = Omit<AnchorHTMLAttributes<HTMLAnchorElement>, "href"> & {
  readonly to: string;
  readonly children: ReactNode;
};

/** A real link: it can be opened in another tab, and is followed here otherwise. */
export function Link({ to, children, ...rest }: LinkProps) {
  return (
    <a
      {...rest}
      href={to}
      onClick={(event) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
        event.preventDefault();
        go(to);
      }}
    >
      {children}
    </a>
  );
}
