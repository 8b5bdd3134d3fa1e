import { type AnchorHTMLAttributes, type MouseEvent, useSyncExternalStore } from "react";

export type PageLocation = { readonly path: string; readonly query: URLSearchParams };

const listeners = new Set<() => void>();
let cached: { readonly href: string; readonly location: PageLocation } | undefined;

/** Returns the same object until the URL changes, as `useSyncExternalStore` requires. */
function readLocation(): PageLocation {
  const { href, pathname, search } = window.location;
  if (cached?.href !== href) {
    cached = { href, location: { path: pathname, query: new URLSearchParams(search) } };
  }
  return cached.location;
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  window.addEventListener("popstate", listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener("popstate", listener);
  };
}

/** The path and query of the current URL. */
export function useLocation(): PageLocation {
  return useSyncExternalStore(subscribe, readLocation);
}

export function navigate(to: string, { replace = false }: { readonly replace?: boolean } = {}): void {
  if (replace) window.history.replaceState(null, "", to);
  else window.history.pushState(null, "", to);
  for (const listener of listeners) listener();
}

export type LinkProps = Omit<AnchorHTMLAttributes<HTMLAnchorElement>, "href"> & { readonly to: string };

/** An `<a>` that navigates without a page load; modified clicks still open a new tab or window. */
export function Link({ to, onClick, ...rest }: LinkProps) {
  const handleClick = (event: MouseEvent<HTMLAnchorElement>): void => {
    onClick?.(event);
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    navigate(to);
  };
  return <a {...rest} href={to} onClick={handleClick} />;
}
