import { useState } from "react";
import { CopyIcon, DoneIcon } from "./icons.tsx";

export type CopyButtonProps = {
  /** Asked for when it is pressed, so that what is hidden is fetched only then. */
  readonly text: string | (() => Promise<string>);
  /** Of what, for those who do not see where the button stands. */
  readonly label: string;
  readonly children?: string;
};

const shownMilliseconds = 2000;

export function CopyButton({ text, label, children }: CopyButtonProps) {
  const [state, setState] = useState<"idle" | "done" | "failed">("idle");
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(typeof text === "string" ? text : await text());
      setState("done");
    } catch {
      setState("failed");
    }
    setTimeout(setState, shownMilliseconds, "idle");
  };
  const words = { idle: children, done: "Copied", failed: "Could not copy" }[state];
  return (
    <button
      type="button"
      className={children === undefined ? "button bare square" : "button"}
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
