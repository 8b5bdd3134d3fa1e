/**
 * @module
 * The URLs of the sections and of a conversation in the chat. They contain ids only, never text that a user wrote.
 * Imported by the shell and by screens.
 */
import {
  Link as BaseLink,
  type LinkProps as BaseLinkProps,
  navigate as navigateTo,
  useLocation,
} from "@hearth-and-keep/page-design";
import { useEffect } from "react";

export type Section = "chat" | "models" | "live" | "usage" | "connect";

export type Route = { readonly section: Section; readonly conversation: string | undefined };

const basePath = "/ui";
const subsections: readonly Section[] = ["models", "live", "usage", "connect"];

export function useRoute(): Route {
  const { path, query } = useLocation();
  const name = path.slice(basePath.length + 1);
  const id = query.get("chat") ?? "";
  return {
    section: subsections.find((section) => section === name) ?? "chat",
    conversation: /^[0-9a-f-]{36}$/u.test(id) ? id : undefined,
  };
}

function urlOf(section: Section, conversation?: string): string {
  if (section !== "chat") return `${basePath}/${section}`;
  return conversation === undefined ? basePath : `${basePath}?chat=${conversation}`;
}

let lastConversation: string | undefined;

/** The conversation that was last open, for links back to the chat. Kept until the page is reloaded. */
export function useLastChat(): string | undefined {
  const { section, conversation } = useRoute();
  useEffect(() => {
    if (section === "chat") lastConversation = conversation;
  }, [section, conversation]);
  return section === "chat" ? conversation : lastConversation;
}

/** Opens the last conversation; `navigate("chat")` opens a new one. */
export function returnToChat(): void {
  navigate("chat", lastConversation);
}

export function navigate(section: Section, conversation?: string): void {
  navigateTo(urlOf(section, conversation));
}

export type LinkProps = Omit<BaseLinkProps, "to"> & {
  readonly section: Section;
  readonly conversation?: string;
};

export function Link({ section, conversation, ...rest }: LinkProps) {
  return <BaseLink {...rest} to={urlOf(section, conversation)} />;
}
