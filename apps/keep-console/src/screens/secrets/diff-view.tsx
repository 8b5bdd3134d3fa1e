import { useMemo } from "react";
import { diffLines } from "./line-diff.ts";

const signs = { same: " ", removed: "−", added: "+" } as const;
const screenReaderPrefixes = { same: "", removed: "Removed: ", added: "Added: " } as const;

/** A unified line diff. */
export function DiffView({ before, after }: { readonly before: string; readonly after: string }) {
  const lines = useMemo(() => diffLines(before, after), [before, after]);
  if (before === after) return <p className="muted">The values are identical.</p>;
  return (
    <pre className="value diff" data-value aria-label="Difference">
      {lines.map(({ kind, text }, index) => (
        // Lines have no identity besides their position.
        // oxlint-disable-next-line react/no-array-index-key
        <span key={index} className={`diff-line ${kind}`}>
          <span aria-hidden="true">{signs[kind]}</span>
          <span>
            <span className="visually-hidden">{screenReaderPrefixes[kind]}</span>
            {text}
            {"\n"}
          </span>
        </span>
      ))}
    </pre>
  );
}
