/** Names of what a request contains without any effect on its response. */
export type Ignored = {
  /** Fields of the body and the query, with a dot before the name of a field inside another. */
  readonly fields?: readonly string[];
  /** Types of tools that nothing here runs. */
  readonly tools?: readonly string[];
  /** Types of content blocks and items that the model does not see. */
  readonly blocks?: readonly string[];
  /** Keywords of JSON Schemas that the output is not constrained to. */
  readonly keywords?: readonly string[];
  /** Fields that the remote engine of the model has no equivalent for. */
  readonly engine?: readonly string[];
};

const headerName = "hearth-ignored";

/** Of each list, so that the header is never longer than 1 KiB. */
const maxListLength = 220;
const maxNameLength = 64;

/**
 * A dictionary of lists of strings (RFC 9651): `fields=("seed" "user"), tools=("web_search")`. Names come from clients, so
 * unusual characters are replaced; `;more=3` after a list counts the names that it has no room for.
 */
export function ignoredHeader(ignored: Ignored): Readonly<Record<string, string>> {
  const members = Object.entries(ignored).flatMap(([kind, names]) =>
    names.length === 0 ? [] : [`${kind}=${writeList(names)}`],
  );
  return members.length === 0 ? {} : { [headerName]: members.join(", ") };
}

/** What a request needs to report what it ignores. */
export type IgnoredReport = {
  readonly addLogFields: (fields: Readonly<Record<string, number>>) => void;
  readonly addResponseHeaders: (headers: Readonly<Record<string, string>>) => void;
};

/** Names dropped tools and skipped blocks to the client; the log counts them. */
export function reportIgnored(
  report: IgnoredReport,
  { tools, blocks }: Required<Pick<Ignored, "tools" | "blocks">>,
): void {
  if (blocks.length > 0) report.addLogFields({ skippedBlocks: blocks.length });
  if (tools.length > 0) report.addLogFields({ droppedTools: tools.length });
  report.addResponseHeaders(ignoredHeader({ tools, blocks }));
}

function writeList(names: readonly string[]): string {
  const written = [...new Set(names.map(writeName))];
  let length = 0;
  const shown = written.filter((name) => (length += name.length + 1) <= maxListLength);
  const left = written.length - shown.length;
  return `(${shown.join(" ")})${left === 0 ? "" : `;more=${left}`}`;
}

function writeName(name: string): string {
  const cut = name.length > maxNameLength ? `${name.slice(0, maxNameLength - 3)}...` : name;
  return `"${cut.replaceAll(/[^\w.:/-]/gu, "?")}"`;
}

/** The values of the header among others. */
export function readIgnoredHeader(headers: Readonly<Record<string, string>>): readonly string[] {
  const value = headers[headerName];
  return value === undefined ? [] : [value];
}
