import { useEffect } from "react";
import { go, goBackToChat } from "../router/router.tsx";

export const shortcuts = [
  { keys: "Enter", meaning: "Send the question" },
  { keys: "Shift Enter", meaning: "A new line in the question" },
  { keys: "Esc", meaning: "Stop the answer; close what stands in front" },
  { keys: "/", meaning: "Write a question" },
  { keys: "n", meaning: "New chat" },
  { keys: "1 2 3 4", meaning: "Chat, Models, Live, Connect" },
  { keys: "?", meaning: "This list" },
] as const;

/** Keys mean something only while nothing is being written and nothing stands in front of the page. */
export function useShortcuts(showList: () => void): void {
  useEffect(() => {
    const listen = (event: KeyboardEvent): void => {
      if (event.metaKey || event.ctrlKey || event.altKey || isWriting(event.target)) return;
      const deed = deeds(showList)[event.key];
      if (deed === undefined) return;
      event.preventDefault();
      deed();
    };
    document.addEventListener("keydown", listen);
    return () => document.removeEventListener("keydown", listen);
  }, [showList]);
}

function deeds(showList: () => void): Readonly<Record<string, () => void>> {
  return {
    "1": goBackToChat,
    "2": () => go("models"),
    "3": () => go("live"),
    "4": () => go("connect"),
    n: () => go("chat"),
    "/": () => {
      if (focusQuestion()) return;
      goBackToChat();
      requestAnimationFrame(focusQuestion);
    },
    "?": showList,
  };
}

function focusQuestion(): boolean {
  const question = document.querySelector<HTMLElement>("#question");
  question?.focus();
  return question !== null;
}

function isWriting(target: EventTarget | null): boolean {
  if (!(target instanceof Element)) return false;
  return target.matches("input, textarea, select") || document.querySelector("[role=dialog]") !== null;
}
