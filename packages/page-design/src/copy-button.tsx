import { useState } from "react";
import { CopyIcon, DoneIcon } from "./icons.tsx";

export type CopyButtonProps = {
  /** Asked for when it is pressed, so that what is hidden is fetched only then. */
  readonly text: string | (() => Promise<string>);
  /** Of what, for those who do not see where the button stands. */
  readonly label: string;
  readonly isSmall?: boolean;
  /** Without words it is the icon alone. */
  readonly children?: string;
};

const shownMilliseconds = 2000;

export function CopyButton({ text, label, isSmall = false, children }: CopyButtonProps) {
  const [state, setState] = useState<"idle" | "done" | "failed">("idle");
  const copy = async (): Promise<void> => {
    const isDone = await take(text).catch(() => false);
    setState(isDone ? "done" : "failed");
    setTimeout(setState, shownMilliseconds, "idle");
  };
  const words = { idle: children, done: "Copied", failed: "Could not copy" }[state];
  const shape = children === undefined ? "bare square" : "";
  return (
    <button
      type="button"
      className={`button ${shape} ${isSmall ? "small" : ""}`}
      aria-label={label}
      onClick={() => void copy()}
    >
      {state === "done" ? <DoneIcon /> : <CopyIcon />}
      {children !== undefined && words}
      <span className="hidden-to-sight" role="status">
        {state === "idle" ? "" : words}
      </span>
    </button>
  );
}

async function take(text: CopyButtonProps["text"]): Promise<boolean> {
  const taken = typeof text === "string" ? text : await text();
  // Absent where the page came by plain HTTP from another machine.
  const clipboard: Clipboard | undefined = navigator.clipboard;
  if (clipboard === undefined) return copyByField(taken);
  await clipboard.writeText(taken);
  return true;
}

function copyByField(text: string): boolean {
  const before = document.activeElement;
  const field = document.createElement("textarea");
  field.value = text;
  field.className = "hidden-to-sight";
  document.body.append(field);
  field.select();
  const isDone = document.execCommand("copy");
  field.remove();
  // The field took the focus with it.
  if (before instanceof HTMLElement) before.focus();
  return isDone;
}
