/**
 * @module
 * Where the person is: one of four places and, in the chat, which conversation. Links change it without loading the
 * page anew, and can be opened in another tab. Nothing that somebody wrote is ever in an address.
 * Imported by the shell and by screens.
 */
import type { AnchorHTMLAttributes, MouseEvent } from "react";
import { createStore, useStore } from "../state/store.ts";

export type Place = "chat" | "models" | "live" | "connect";

export type Address = { readonly place: Place; readonly conversation: string | undefined };

const home = "/ui";
const others: readonly Place[] = ["models", "live", "connect"];

const address = createStore(read());
window.addEventListener("popstate", () => address.set(read));

function read(): Address {
  const last = window.location.pathname.slice(home.length + 1);
  const place = others.find((other) => other === last) ?? "chat";
  const id = new URLSearchParams(window.location.search).get("chat") ?? "";
  return { place, conversation: /^[0-9a-f-]{36}$/u.test(id) ? id : undefined };
}

function hrefOf(place: Place, conversation?: string): string {
  if (place !== "chat") return `${home}/${place}`;
  return conversation === undefined ? home : `${home}?chat=${conversation}`;
}

export function go(place: Place, conversation?: string): void {
  window.history.pushState(null, "", hrefOf(place, conversation));
  address.set(read);
}

export function useAddress(): Address {
  return useStore(address);
}

export type LinkProps = Omit<AnchorHTMLAttributes<HTMLAnchorElement>, "href"> & {
  readonly place: Place;
  readonly conversation?: string;
};

export function Link({ place, conversation, onClick, ...rest }: LinkProps) {
  const follow = (event: MouseEvent<HTMLAnchorElement>): void => {
    onClick?.(event);
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    go(place, conversation);
  };
  return <a {...rest} href={hrefOf(place, conversation)} onClick={follow} />;
}
