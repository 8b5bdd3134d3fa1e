/**
 * @module
 * What screens are made of: the parts that two of them could share, and every colour, size and letter (`look.css`).
 * Promises that each part works by keyboard and is understood by a screen reader, and that nothing jumps when content
 * comes. Knows nothing of vaults, secrets or accounts.
 * Imported by the shell and by screens.
 */
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

export type EmptyProps = {
  readonly title: string;
  readonly children: ReactNode;
  readonly action?: ReactNode;
};

/** Nothing is here yet, and what to do about it. */
export function Empty({ title, children, action }: EmptyProps) {
  return (
    <div className="card empty">
      <h2>{title}</h2>
      <p>{children}</p>
      {action}
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

/** Something did not work: what, in plain words, and a way to try again. */
export function Failed({ text, onRetry }: { readonly text: string; readonly onRetry?: () => void }) {
  return (
    <Notice kind="bad">
      <div className="stack tight" ref={bringIntoSight}>
        <span>{text}</span>
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
