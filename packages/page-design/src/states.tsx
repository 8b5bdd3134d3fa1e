import type { ReactNode } from "react";
import { WarnIcon } from "./icons.tsx";

/** Lines where the content will be, so that nothing jumps when it comes. */
export function Loading({
  lines = 4,
  label = "Loading",
}: {
  readonly lines?: number;
  readonly label?: string;
}) {
  return (
    <div className="card padded stack" role="status" aria-label={label}>
      {Array.from({ length: lines }, (_, line) => (
        <div key={line} className="loading-line" />
      ))}
    </div>
  );
}

export type NoticeProps = {
  readonly kind?: "plain" | "good" | "warn" | "bad";
  readonly children: ReactNode;
};

export function Notice({ kind = "plain", children }: NoticeProps) {
  const isUrgent = kind === "bad" || kind === "warn";
  return (
    <div className={`notice ${kind}`} role={kind === "bad" ? "alert" : "note"}>
      {isUrgent && <WarnIcon />}
      <div>{children}</div>
    </div>
  );
}

/** Whoever pressed a button far above sees what came of it. */
function bringIntoSight(element: HTMLElement | null): void {
  element?.scrollIntoView({ block: "nearest" });
}

export type FailedProps = {
  /** What did not work, in the server's words or in plain ones. */
  readonly text: string;
  readonly nextStep?: string;
  readonly onRetry?: () => void;
};

/** Something did not work: what, what to do about it, and a way to try again. */
export function Failed({ text, nextStep = "", onRetry }: FailedProps) {
  return (
    <Notice kind="bad">
      <div className="stack tight" ref={bringIntoSight}>
        {nextStep === "" ? <span>{text}</span> : <strong>{text}</strong>}
        {nextStep !== "" && <span>{nextStep}</span>}
        {onRetry !== undefined && (
          <div>
            <button type="button" className="button" onClick={onRetry}>
              Try again
            </button>
          </div>
        )}
      </div>
    </Notice>
  );
}
