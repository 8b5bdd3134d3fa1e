import type { ReactNode } from "react";
import { WarnIcon } from "./icons.tsx";

/** Skeleton lines that reserve room, so that the layout does not jump when the content arrives. */
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
        <div key={line} className="skeleton-line" />
      ))}
    </div>
  );
}

export type NoticeProps = {
  readonly kind?: "info" | "success" | "warning" | "error";
  readonly children: ReactNode;
};

export function Notice({ kind = "info", children }: NoticeProps) {
  const isUrgent = kind === "error" || kind === "warning";
  return (
    <div className={`notice ${kind}`} role={kind === "error" ? "alert" : "note"}>
      {isUrgent && <WarnIcon />}
      <div>{children}</div>
    </div>
  );
}

/** The button that caused the error may be far above the notice. */
function scrollIntoView(element: HTMLElement | null): void {
  element?.scrollIntoView({ block: "nearest" });
}

export type ErrorNoticeProps = {
  readonly text: string;
  readonly nextStep?: string;
  readonly onRetry?: () => void;
};

/** What failed, what to do about it, and a retry button where retrying makes sense. */
export function ErrorNotice({ text, nextStep = "", onRetry }: ErrorNoticeProps) {
  return (
    <Notice kind="error">
      <div className="stack tight" ref={scrollIntoView}>
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
