/**
 * @module
 * What API keys and models have used in a period: requests, tokens and waiting times, as charts, as tables and as a CSV
 * file. A key for inference sees its own usage only; the server decides that.
 * Imported by `screens/screens.tsx`.
 */
import { Loading, Notice } from "@hearth-and-keep/page-design";
import { useMemo, useState } from "react";
import { formatCompact, formatSeconds } from "../../design/format-number.ts";
import { ScreenHeader } from "../../design/screen-header.tsx";
import { Tile } from "../../design/tile.tsx";
import { keyRole } from "../../state/key-role.ts";
import { useStore } from "../../state/store.ts";
import { RequestErrorNotice } from "../error-notice.tsx";
import { Choice } from "./choice.tsx";
import { CsvButton } from "./csv-button.tsx";
import { UsageCharts } from "./usage-charts.tsx";
import { defaultPeriod, periods } from "./usage-period.ts";
import { type Grouping, groupUsage, sumUsage, type UsageSum } from "./usage-report.ts";
import { UsageTable } from "./usage-table.tsx";
import { type Usage, type UsageState, useUsage } from "./use-usage.ts";

const groupings = [
  { id: "key", label: "Key" },
  { id: "model", label: "Model" },
] as const;

export function UsageScreen() {
  const role = useStore(keyRole);
  const [period, setPeriod] = useState(defaultPeriod);
  const [chosenGrouping, setGrouping] = useState<Grouping>("key");
  const state = useUsage(period);
  // All usage of such a key is its own.
  const isOwnOnly = role === "inference";
  const grouping = isOwnOnly ? "model" : chosenGrouping;
  // Whose usage the report shows is not known without the role.
  const isLoading = state.state === "loading" || (state.state === "loaded" && role === undefined);
  return (
    <div className="column wide stack">
      <ScreenHeader title="Usage">
        <span className="muted small">
          {period.bucket === "day" ? "Days begin at midnight UTC" : "Times are in UTC"}
        </span>
      </ScreenHeader>
      {isOwnOnly && (
        <p className="muted">This is the usage of your API key. That of all keys requires an admin key.</p>
      )}
      <div className="row spread usage-controls">
        <div className="row usage-choices">
          <Choice name="Period" options={periods} chosen={period.id} onChoose={setPeriod} />
          {role === "admin" && (
            <Choice
              name="Group by"
              options={groupings}
              chosen={grouping}
              onChoose={({ id }) => setGrouping(id)}
            />
          )}
        </div>
        <CsvButton key={period.id} query={queryOfReport(state)} />
      </div>
      {isLoading && <Loading label="Loading usage" />}
      {state.state === "failed" && <RequestErrorNotice error={state.error} onRetry={state.retry} />}
      {state.state === "loaded" && !isLoading && <Report usage={state.usage} grouping={grouping} />}
    </div>
  );
}

/** Undefined where the file would be empty. */
function queryOfReport(state: UsageState): string | undefined {
  if (state.state !== "loaded") return undefined;
  const { query, buckets } = state.usage;
  return [...buckets.values()].some((rows) => rows.length > 0) ? query : undefined;
}

function Report({ usage, grouping }: { readonly usage: Usage; readonly grouping: Grouping }) {
  const rows = useMemo(() => [...usage.buckets.values()].flat(), [usage]);
  const groups = useMemo(() => groupUsage(rows, grouping), [rows, grouping]);
  if (!usage.isRecorded) return <NotRecorded />;
  if (rows.length === 0) return <p className="muted">No requests in the last {usage.period.label}.</p>;
  return (
    <>
      <Totals sum={sumUsage(rows)} />
      <UsageCharts usage={usage} grouping={grouping} groups={groups} />
      <UsageTable grouping={grouping} groups={groups} />
    </>
  );
}

function Totals({ sum }: { readonly sum: UsageSum }) {
  const { requests, failed, input, cachedInput, output, firstTokenSeconds, queueSeconds = 0 } = sum;
  const cachedPercent = input === 0 ? 0 : (100 * cachedInput) / input;
  const outputPerRequest = requests === 0 ? 0 : output / requests;
  return (
    <dl className="tiles">
      <Tile name="Requests" value={formatCompact(requests)} detail={`${formatCompact(failed)} failed`} />
      <Tile name="Input tokens" value={formatCompact(input)} detail={`${cachedPercent.toFixed(0)}% cached`} />
      <Tile
        name="Output tokens"
        value={formatCompact(output)}
        detail={`${formatCompact(Math.round(outputPerRequest))} per request`}
      />
      <Tile
        name="Time to first token"
        value={firstTokenSeconds === undefined ? "–" : formatSeconds(firstTokenSeconds)}
        detail={`${formatSeconds(queueSeconds)} in the queue`}
      />
    </dl>
  );
}

function NotRecorded() {
  return (
    <Notice>
      Usage is not recorded yet: create an API key with <code>hearth keys create NAME</code>, then restart the
      server, as docs/hearth/keys.md describes.
    </Notice>
  );
}
