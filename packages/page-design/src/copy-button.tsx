import { useState } from "react";
import { CopyIcon, DoneIcon } from "./icons.tsx";

export type CopyButtonProps = {
  /** A function is called on click, so that a hidden value is fetched only then. */
  readonly text: string | (() => Promise<string>);
  /** Accessible name: what the button copies. */
  readonly label: string;
  readonly isSmall?: boolean;
  /** Visible text; without it the button is an icon. */
  readonly children?: string;
  /** Called with the text once it is on the clipboard. */
  readonly onCopied?: (text: string) => void;
};

const feedbackMilliseconds = 2000;

export function CopyButton({ text, label, isSmall = false, children, onCopied }: CopyButtonProps) {
  const [state, setState] = useState<"idle" | "done" | "failed">("idle");
  const copy = async (): Promise<void> => {
    const copied = await copyText(text).catch(() => undefined);
    setState(copied === undefined ? "failed" : "done");
    if (copied !== undefined) onCopied?.(copied);
    setTimeout(setState, feedbackMilliseconds, "idle");
  };
  const visibleText = { idle: children, done: "Copied", failed: "Copy failed" }[state];
  const shape = children === undefined ? "ghost square" : "";
  return (
    <button
      type="button"
      className={`button ${shape} ${isSmall ? "small" : ""}`}
      aria-label={label}
      onClick={() => void copy()}
    >
      {state === "done" ? <DoneIcon /> : <CopyIcon />}
      {children !== undefined && visibleText}
      <span className="visually-hidden" role="status">
        {state === "idle" ? "" : visibleText}
      </span>
    </button>
  );
}

/** The copied text; undefined when the browser refused. */
async function copyText(text: CopyButtonProps["text"]): Promise<string | undefined> {
  const content = typeof text === "string" ? text : await text();
  // The Clipboard API is missing on pages served over plain HTTP from another machine.
  const clipboard: Clipboard | undefined = navigator.clipboard;
  if (clipboard === undefined) return copyWithTextArea(content) ? content : undefined;
  await clipboard.writeText(content);
  return content;
}

function copyWithTextArea(text: string): boolean {
  const previouslyFocused = document.activeElement;
  const textArea = document.createElement("textarea");
  textArea.value = text;
  textArea.className = "visually-hidden";
  document.body.append(textArea);
  textArea.select();
  const isDone = document.execCommand("copy");
  textArea.remove();
  // Selecting the text area moved the focus to it.
  if (previouslyFocused instanceof HTMLElement) previouslyFocused.focus();
  return isDone;
}
