/** One key and model in one bucket of time, as `/api/usage` counts them. */
export type UsageRow = {
  /** When the bucket begins, in RFC 3339. */
  readonly start: string;
  readonly key: string;
  readonly model: string;
  readonly where: "local" | "pool" | "remote";
  readonly requests: number;
  readonly failed: number;
  /** Including the cached ones. */
  readonly input_tokens: number;
  readonly cached_tokens: number;
  readonly output_tokens: number;
  /** Mean per request. */
  readonly queue_seconds: number;
  /** Mean per request; 0 if no request had a first token, e.g. for embeddings. */
  readonly first_token_seconds: number;
};

/** The response of `/api/usage`. */
export type UsageReport = {
  /** "off" until the server has opened a database of keys. */
  readonly ledger: "on" | "off";
  readonly rows: readonly UsageRow[];
};

export type Tokens = {
  readonly uncachedInput: number;
  readonly cachedInput: number;
  readonly output: number;
};

export type UsageSum = Tokens & {
  readonly requests: number;
  readonly failed: number;
  readonly input: number;
  /** Undefined without requests. */
  readonly queueSeconds: number | undefined;
  /** Undefined when no request had a first token. */
  readonly firstTokenSeconds: number | undefined;
};

export function totalTokens({ uncachedInput, cachedInput, output }: Tokens): number {
  return uncachedInput + cachedInput + output;
}

export function sumUsage(rows: readonly UsageRow[]): UsageSum {
  const sumOf = (count: (row: UsageRow) => number): number => rows.reduce((sum, row) => sum + count(row), 0);
  return {
    requests: sumOf(({ requests }) => requests),
    failed: sumOf(({ failed }) => failed),
    input: sumOf((row) => row.input_tokens),
    uncachedInput: sumOf((row) => Math.max(0, row.input_tokens - row.cached_tokens)),
    cachedInput: sumOf((row) => row.cached_tokens),
    output: sumOf((row) => row.output_tokens),
    queueSeconds: weightedMean(rows, (row) => row.queue_seconds, countRequests),
    firstTokenSeconds: weightedMean(rows, (row) => row.first_token_seconds, countAnswered),
  };
}

const countRequests = ({ requests }: UsageRow): number => requests;

/** A request that failed may have had no token. */
const countAnswered = (row: UsageRow): number =>
  row.first_token_seconds === 0 ? 0 : Math.max(0, row.requests - row.failed);

type Read = (row: UsageRow) => number;

/** Of means, each weighted by the number of requests it is the mean of. */
function weightedMean(rows: readonly UsageRow[], value: Read, weight: Read): number | undefined {
  const total = rows.reduce((sum, row) => sum + weight(row), 0);
  if (total === 0) return undefined;
  return rows.reduce((sum, row) => sum + value(row) * weight(row), 0) / total;
}

export type Grouping = "key" | "model";

export type UsageGroup = UsageSum & {
  readonly name: string;
  /** Where its requests ran, e.g. "local". */
  readonly locations: readonly UsageRow["where"][];
};

/** One group per key or per model. */
export function groupUsage(rows: readonly UsageRow[], grouping: Grouping): readonly UsageGroup[] {
  const groups = Map.groupBy(rows, (row) => row[grouping]);
  return [...groups].map(([name, members]) => ({
    name,
    locations: [...new Set(members.map(({ where }) => where))].toSorted(),
    ...sumUsage(members),
  }));
}

export type SortColumn =
  | "name"
  | "requests"
  | "failed"
  | "input"
  | "cachedInput"
  | "output"
  | "queueSeconds"
  | "firstTokenSeconds";

export type SortOrder = { readonly column: SortColumn; readonly isDescending: boolean };

/** Equal groups are in the order of their names; groups without a value come last. */
export function sortGroups(
  groups: readonly UsageGroup[],
  { column, isDescending }: SortOrder,
): readonly UsageGroup[] {
  const sign = isDescending ? -1 : 1;
  return groups.toSorted((one, other) => {
    const byName = one.name.localeCompare(other.name, "en");
    if (column === "name") return sign * byName;
    const [value, otherValue] = [one[column], other[column]];
    if (value === otherValue) return byName;
    if (value === undefined || otherValue === undefined) return value === undefined ? 1 : -1;
    return sign * (value - otherValue);
  });
}
