import { useEffect } from "react";
import { navigate, returnToChat } from "../router/router.tsx";

export const shortcuts = [
  { keys: "Enter", description: "Send the message" },
  { keys: "Shift Enter", description: "Insert a line break" },
  { keys: "Esc", description: "Stop the response, or close a dialog" },
  { keys: "/", description: "Write a message" },
  { keys: "n", description: "New chat" },
  { keys: "1 2 3 4 5", description: "Chat, Models, Live, Usage, Connect" },
  { keys: "?", description: "Show keyboard shortcuts" },
] as const;

/** Single keys work only while the focus is outside of text fields and no dialog is open. */
export function useShortcuts(showList: () => void): void {
  useEffect(() => {
    const handleKey = (event: KeyboardEvent): void => {
      if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event.target)) return;
      const action = actionsByKey(showList)[event.key];
      if (action === undefined) return;
      event.preventDefault();
      action();
    };
    document.addEventListener("keydown", handleKey);
    return () => document.removeEventListener("keydown", handleKey);
  }, [showList]);
}

function actionsByKey(showList: () => void): Readonly<Record<string, () => void>> {
  return {
    "1": returnToChat,
    "2": () => navigate("models"),
    "3": () => navigate("live"),
    "4": () => navigate("usage"),
    "5": () => navigate("connect"),
    n: () => navigate("chat"),
    "/": () => {
      if (focusMessageBox()) return;
      returnToChat();
      requestAnimationFrame(focusMessageBox);
    },
    "?": showList,
  };
}

function focusMessageBox(): boolean {
  const field = document.querySelector<HTMLElement>("#message");
  field?.focus();
  return field !== null;
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof Element)) return false;
  return target.matches("input, textarea, select") || document.querySelector("[role=dialog]") !== null;
}
