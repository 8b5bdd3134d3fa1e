/**
 * @module
 * The page's four places and, in the chat, which conversation: what they are called in an address, and which of them
 * an address means. Nothing that somebody wrote is ever in an address.
 * Imported by the shell and by screens.
 */
import {
  go as goTo,
  Link as PlainLink,
  type LinkProps as PlainProps,
  useAddress,
} from "@hearth-and-keep/page-design";
import { useEffect } from "react";

export type Place = "chat" | "models" | "live" | "connect";

export type Whereabouts = { readonly place: Place; readonly conversation: string | undefined };

const home = "/ui";
const others: readonly Place[] = ["models", "live", "connect"];

export function useWhereabouts(): Whereabouts {
  const { path, query } = useAddress();
  const last = path.slice(home.length + 1);
  const id = query.get("chat") ?? "";
  return {
    place: others.find((other) => other === last) ?? "chat",
    conversation: /^[0-9a-f-]{36}$/u.test(id) ? id : undefined,
  };
}

function hrefOf(place: Place, conversation?: string): string {
  if (place !== "chat") return `${home}/${place}`;
  return conversation === undefined ? home : `${home}?chat=${conversation}`;
}

let lastConversation: string | undefined;

/** Where the chat was left, so that the way there leads back to it while the page is open. */
export function useLastChat(): string | undefined {
  const { place, conversation } = useWhereabouts();
  useEffect(() => {
    if (place === "chat") lastConversation = conversation;
  }, [place, conversation]);
  return place === "chat" ? conversation : lastConversation;
}

/** To where the chat was left; `go("chat")` begins a new one. */
export function goBackToChat(): void {
  go("chat", lastConversation);
}

export function go(place: Place, conversation?: string): void {
  goTo(hrefOf(place, conversation));
}

export type LinkProps = Omit<PlainProps, "to"> & { readonly place: Place; readonly conversation?: string };

export function Link({ place, conversation, ...rest }: LinkProps) {
  return <PlainLink {...rest} to={hrefOf(place, conversation)} />;
}
