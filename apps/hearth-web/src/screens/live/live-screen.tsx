/**
 * @module
 * Current activity of the server: loaded models, active and queued requests, throughput and memory, as charts and as
 * a table for screen readers; a key for inference sees the loaded models only. Polls once a second, and not while the
 * tab is hidden.
 * Imported by `screens/screens.tsx`.
 */
import { Loading } from "@hearth-and-keep/page-design";
import { lazy, Suspense } from "react";
import { formatBytes } from "../../design/format-bytes.ts";
import { ScreenHeader } from "../../design/screen-header.tsx";
import { Tile } from "../../design/tile.tsx";
import { keyRole } from "../../state/key-role.ts";
import { useStore } from "../../state/store.ts";
import { AdminOnly } from "../admin-only.tsx";
import { RequestErrorNotice } from "../error-notice.tsx";
import type { Point } from "./parse-metrics.ts";
import { type MetricsState, type RunningModel, useMetrics } from "./use-metrics.ts";

const Chart = lazy(() => import("./chart.tsx"));

export function LiveScreen() {
  const role = useStore(keyRole);
  const state = useMetrics(role);
  const { loaded, error } = state;
  return (
    <div className="column wide stack">
      <ScreenHeader title="Live">
        <span className="muted small">
          {role === "inference" ? "Updated every second" : "Last two minutes, updated every second"}
        </span>
      </ScreenHeader>
      {error !== undefined && <RequestErrorNotice error={error} />}
      {loaded === undefined && error === undefined && <Loading label="Loading metrics" />}
      <AdminOnly otherwise="Charts and request counts require an admin key.">
        {state.sample !== undefined && <Dashboard state={state} />}
      </AdminOnly>
      {role === "inference" && loaded !== undefined && <LoadedModels loaded={loaded} />}
    </div>
  );
}

function Dashboard({ state: { sample, points, loaded } }: { readonly state: MetricsState }) {
  const last = points.at(-1);
  return (
    <>
      <dl className="tiles">
        <Tile name="Tokens per second" value={(last?.tokensPerSecond ?? 0).toFixed(0)} />
        <Tile name="Active requests" value={String(sample?.active ?? 0)} />
        <Tile name="Queued requests" value={String(sample?.queued ?? 0)} />
        <Tile name="Model memory" value={formatBytes(sample?.memoryBytes ?? 0)} />
      </dl>
      <Suspense fallback={<Loading label="Loading charts" />}>
        <div className="charts">
          <Chart title="Tokens per second" points={points} series={[{ label: "Tokens", of: tokens }]} />
          <Chart
            title="Requests"
            points={points}
            series={[
              { label: "Active", of: ({ active }) => active },
              { label: "Queued", of: ({ queued }) => queued },
            ]}
          />
          <Chart title="Model memory (MB)" points={points} series={[{ label: "MB", of: megabytes }]} />
          <Chart title="Requests per second" points={points} series={[{ label: "Requests", of: requests }]} />
        </div>
      </Suspense>
      <LoadedModels loaded={loaded ?? []} />
      <RecentValues points={points} />
    </>
  );
}

const tokens = ({ tokensPerSecond }: Point): number => tokensPerSecond;
const requests = ({ requestsPerSecond }: Point): number => requestsPerSecond;
const megabytes = ({ memoryBytes }: Point): number => memoryBytes / 1e6;

function LoadedModels({ loaded }: { readonly loaded: readonly RunningModel[] }) {
  return (
    <section className="stack tight" aria-labelledby="loaded">
      <h2 id="loaded">Loaded models</h2>
      {loaded.length === 0 && <p className="muted">None. A model is loaded by its first request.</p>}
      {loaded.length > 0 && (
        <ul className="card model-list">
          {loaded.map((model) => (
            <li key={model.name} className="model">
              <strong className="break-words">{model.name}</strong>
              <span className="muted small">
                {[
                  formatBytes(model.size),
                  model.size_vram > 0 ? `${formatBytes(model.size_vram)} on GPU` : "on CPU",
                  `${model.context_length.toLocaleString("en")} tokens of context`,
                  formatExpiry(model.expires_at),
                  ...(model.protection === undefined ? [] : [model.protection]),
                ].join(" · ")}
              </span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function formatExpiry(expiresAt: string): string {
  const minutes = (Date.parse(expiresAt) - Date.now()) / 60_000;
  if (minutes > 60 * 24 * 365) return "never unloads";
  return minutes < 1 ? "unloads in less than a minute" : `unloads in about ${Math.round(minutes)} min`;
}

const rowCount = 10;

/** The values of the charts as a table. */
function RecentValues({ points }: { readonly points: readonly Point[] }) {
  return (
    <details className="disclosure">
      <summary>Last {rowCount} samples as a table</summary>
      <section className="wide-table" aria-label="Recent values" tabIndex={0}>
        <table className="table">
          <thead>
            <tr>
              <th>Time</th>
              <th>Tokens/s</th>
              <th>Active</th>
              <th>Queued</th>
              <th>Memory</th>
            </tr>
          </thead>
          <tbody>
            {points.slice(-rowCount).map((point) => (
              <tr key={point.at}>
                <td>{new Date(point.at * 1000).toLocaleTimeString()}</td>
                <td>{point.tokensPerSecond.toFixed(1)}</td>
                <td>{point.active}</td>
                <td>{point.queued}</td>
                <td>{formatBytes(point.memoryBytes)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </details>
  );
}
