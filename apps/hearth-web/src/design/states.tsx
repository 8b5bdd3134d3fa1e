/**
 * @module
 * What screens are made of: the parts that two of them share, and every colour, size and letter (`look.css`).
 * Promises that each part works by keyboard and is understood by a screen reader. Knows nothing of models or chats.
 * Imported by the shell and by screens.
 */
import type { ReactNode } from "react";
import { WarnIcon } from "./icons.tsx";

/** Lines where the content will be, so that nothing jumps when it comes. */
export function Loading({ label }: { readonly label: string }) {
  return (
    <div className="card padded stack" role="status" aria-label={label}>
      {[0, 1, 2].map((line) => (
        <div key={line} className="loading-line" />
      ))}
    </div>
  );
}

export type FailedProps = {
  readonly problem: { readonly message: string; readonly nextStep: string };
  readonly onRetry?: () => void;
};

/** What went wrong, in the server's words, what to do about it, and a way to try again. */
export function Failed({ problem, onRetry }: FailedProps) {
  return (
    <div className="notice bad" role="alert">
      <WarnIcon />
      <div className="stack tight">
        <strong className="breaks">{problem.message}</strong>
        {problem.nextStep !== "" && <span className="breaks">{problem.nextStep}</span>}
        {onRetry !== undefined && (
          <div>
            <button type="button" className="button small" onClick={onRetry}>
              Try again
            </button>
          </div>
        )}
      </div>
    </div>
  );
}

export type HeadProps = { readonly title: string; readonly children?: ReactNode };

export function ScreenHead({ title, children }: HeadProps) {
  return (
    <div className="screen-head">
      <h1>{title}</h1>
      {children}
    </div>
  );
}

/** As people say sizes: 98 MB, 4.7 GB. */
export function bytesInWords(bytes: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  const step = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  const amount = bytes / 1000 ** step;
  return `${amount.toFixed(amount < 10 && step > 0 ? 1 : 0)} ${units[step]}`;
}
