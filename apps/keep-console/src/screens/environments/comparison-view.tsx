import type { FolderComparison } from "@hearth-and-keep/vault-contract";

type Item = FolderComparison["items"][number];

export type ComparisonViewProps = {
  readonly comparison: FolderComparison;
  /** Names of the environments. */
  readonly left: string;
  readonly right: string;
};

/** The names by outcome; those that are the same are collapsed. */
export function ComparisonView({ comparison, left, right }: ComparisonViewProps) {
  const byOutcome = (outcome: Item["outcome"]): readonly Item[] =>
    comparison.items.filter((item) => item.outcome === outcome);
  const groups = [
    { title: "Different values", items: byOutcome("different"), isOpen: true },
    { title: `Only in ${left}`, items: byOutcome("left_only"), isOpen: true },
    { title: `Only in ${right}`, items: byOutcome("right_only"), isOpen: true },
    { title: "Same values", items: byOutcome("same"), isOpen: false },
  ];
  if (comparison.items.length === 0) return <p>Neither environment has a secret.</p>;
  return (
    <div className="stack tight">
      {groups.map(
        ({ title, items, isOpen }) =>
          items.length > 0 && (
            <details key={title} className="comparison" open={isOpen}>
              <summary>
                {title} <span className="muted">({items.length})</span>
              </summary>
              <ul>
                {items.map((item) => (
                  <li key={item.path} className="break-words">
                    <code>{item.path}</code>
                    {item.inherited !== undefined && (
                      <span className="muted small">
                        {" "}
                        {describeInherited(item.inherited, { left, right })}
                      </span>
                    )}
                  </li>
                ))}
              </ul>
            </details>
          ),
      )}
    </div>
  );
}

function describeInherited(
  side: NonNullable<Item["inherited"]>,
  { left, right }: Pick<ComparisonViewProps, "left" | "right">,
): string {
  if (side === "both") return "inherited by both";
  return `inherited by ${side === "left" ? left : right}`;
}
