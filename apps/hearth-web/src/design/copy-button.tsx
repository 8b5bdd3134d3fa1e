import { useState } from "react";
import { CopyIcon, DoneIcon } from "./icons.tsx";

export type CopyButtonProps = {
  readonly text: string;
  /** Of what, for those who do not see where the button stands. */
  readonly label: string;
};

const shownMilliseconds = 2000;
const words = { idle: "Copy", done: "Copied", failed: "Could not copy" } as const;

export function CopyButton({ text, label }: CopyButtonProps) {
  const [state, setState] = useState<keyof typeof words>("idle");
  const copy = async (): Promise<void> => {
    // Absent where the page came by plain HTTP from another machine.
    const isDone = await copyText(text);
    setState(isDone ? "done" : "failed");
    setTimeout(setState, shownMilliseconds, "idle");
  };
  return (
    <button type="button" className="button small" aria-label={label} onClick={() => void copy()}>
      {state === "done" ? <DoneIcon /> : <CopyIcon />}
      <span>{words[state]}</span>
      <span className="hidden-to-sight" role="status">
        {state === "idle" ? "" : words[state]}
      </span>
    </button>
  );
}

async function copyText(text: string): Promise<boolean> {
  const clipboard: Clipboard | undefined = navigator.clipboard;
  if (clipboard !== undefined) {
    return clipboard.writeText(text).then(
      () => true,
      () => false,
    );
  }
  const field = document.createElement("textarea");
  field.value = text;
  field.className = "hidden-to-sight";
  document.body.append(field);
  field.select();
  const isDone = document.execCommand("copy");
  field.remove();
  return isDone;
}
