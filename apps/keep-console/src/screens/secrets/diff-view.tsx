import { useMemo } from "react";
import { diffLines } from "./line-diff.ts";

const signs = { same: " ", removed: "−", added: "+" } as const;
const words = { same: "", removed: "Removed: ", added: "Added: " } as const;

/** Two texts as one, with what was taken out and put in. */
export function DiffView({ before, after }: { readonly before: string; readonly after: string }) {
  const lines = useMemo(() => diffLines(before, after), [before, after]);
  if (before === after) return <p className="quiet">The values are the same.</p>;
  return (
    <pre className="value diff" data-value aria-label="Difference">
      {lines.map(({ kind, text }, index) => (
        // Lines have no name but their place.
        // oxlint-disable-next-line react/no-array-index-key
        <span key={index} className={`diff-line ${kind}`}>
          <span aria-hidden="true">{signs[kind]}</span>
          <span>
            <span className="hidden-to-sight">{words[kind]}</span>
            {text}
            {"\n"}
          </span>
        </span>
      ))}
    </pre>
  );
}
