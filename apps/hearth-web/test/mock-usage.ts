import type { Page } from "playwright-core";
import type { UsageRow } from "../src/screens/usage/usage-report.ts";

export type MockUsage = {
  /** The rows of one bucket; the last one of the last day has index 0, the one before it 1, and so on. */
  readonly rowsOf: (index: number) => readonly Partial<UsageRow>[];
  readonly ledger?: "on" | "off";
};

export const usagePattern = "**/api/usage?*";
export const mockCsv = "start,key,model,requests\n2026-11-18T00:00:00Z,alice,smollm2:135m,12\n";

/** Answers `/api/usage` in its documented form, with these rows in every bucket of the requested days. */
export async function mockUsage(page: Page, { rowsOf, ledger = "on" }: MockUsage): Promise<void> {
  await page.route(usagePattern, (route) => {
    const { from, to, bucket, format } = Object.fromEntries(new URL(route.request().url()).searchParams);
    if (format === "csv") return route.fulfill({ status: 200, contentType: "text/csv", body: mockCsv });
    const range = { from: `${from}T00:00:00Z`, to: `${to}T23:59:59Z`, bucket };
    const rows = listBuckets(range).flatMap((start, index) =>
      rowsOf(index).map((row) => ({ ...ordinaryRow, ...row, start })),
    );
    return route.fulfill({ status: 200, body: JSON.stringify({ ledger, ...range, rows, totals: {} }) });
  });
}

type Range = { readonly from: string; readonly to: string; readonly bucket: string | undefined };

/** Latest first. */
function listBuckets({ from, to, bucket }: Range): readonly string[] {
  const milliseconds = bucket === "hour" ? 3_600_000 : 86_400_000;
  const count = Math.ceil((Date.parse(to) - Date.parse(from)) / milliseconds);
  const starts = Array.from({ length: count }, (_, index) => Date.parse(from) + index * milliseconds);
  return starts.toReversed().map((start) => new Date(start).toISOString());
}

const ordinaryRow: UsageRow = {
  start: "",
  key: "alice",
  model: "smollm2:135m",
  where: "local",
  requests: 12,
  failed: 1,
  input_tokens: 3400,
  cached_tokens: 2100,
  output_tokens: 900,
  queue_seconds: 0.02,
  first_token_seconds: 0.31,
};

/** Three keys and three models, with quiet days. */
export function ordinaryRows(index: number): readonly Partial<UsageRow>[] {
  const load = (index * 7) % 5;
  if (load === 0) return [];
  return [
    {
      requests: 12 * load,
      input_tokens: 34_000 * load,
      cached_tokens: 21_000 * load,
      output_tokens: 9000 * load,
    },
    { key: "build-server", model: "qwen3:8b", where: "pool", requests: 40, failed: 0, input_tokens: 52_000 },
    {
      key: "carol",
      model: "far/large:latest",
      where: "remote",
      first_token_seconds: 1.42,
      output_tokens: 12_000,
    },
  ];
}

const rightToLeft = "\u202E";

export const hostileNames = {
  html: "<img src=x onerror='window.isBroken = true'><script>window.isBroken = true</script>",
  reordered: `safe${rightToLeft}nimda`,
  long: "k".repeat(200),
  arabic: "مفتاح-الفريق",
  formula: '=HYPERLINK("https://evil.example")',
} as const;

/** Sixty keys, among them hostile names, with as many tokens as a counter can hold. */
export function hostileRows(): readonly Partial<UsageRow>[] {
  const names = Object.values(hostileNames);
  return Array.from({ length: 60 }, (_, index) => {
    const name = names[index] ?? `key-${index}`;
    return {
      key: name,
      model: names[index] ?? "smollm2:135m",
      requests: index === 2 ? 1e15 : index + 1,
      input_tokens: index < 3 ? 1e15 : 1e14 - index * 1e12,
      cached_tokens: index < 3 ? 4e14 : 0,
      output_tokens: index < 3 ? 1e15 : 3e13,
    };
  });
}
