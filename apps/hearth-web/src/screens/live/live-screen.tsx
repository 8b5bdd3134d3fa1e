/**
 * @module
 * What the server does at this moment: which models are in memory, who waits, and how fast it writes, as charts that
 * move and as a table for those who do not see them. It looks once a second, and not while the tab is hidden.
 * Imported by `screens/screens.tsx`.
 */
import { Loading } from "@hearth-and-keep/page-design";
import { lazy, Suspense } from "react";
import { FailedRequest } from "../../design/failed-request.tsx";
import { bytesInWords } from "../../design/format-bytes.ts";
import { ScreenHead } from "../../design/screen-head.tsx";
import type { Point } from "./read-metrics.ts";
import { type RunningModel, type Seen, useSamples } from "./use-samples.ts";

const Chart = lazy(() => import("./chart.tsx"));

export function LiveScreen() {
  const seen = useSamples();
  return (
    <div className="column wide stack">
      <ScreenHead title="Live">
        <span className="quiet small">Every second, the last two minutes</span>
      </ScreenHead>
      {seen.problem !== undefined && <FailedRequest problem={seen.problem} />}
      {seen.sample === undefined && seen.problem === undefined && <Loading label="Looking at the server" />}
      {seen.sample !== undefined && <Everything seen={seen} />}
    </div>
  );
}

function Everything({ seen: { sample, points, loaded } }: { readonly seen: Seen }) {
  const last = points.at(-1);
  return (
    <>
      <dl className="tiles">
        <Tile name="Tokens per second" value={(last?.tokensPerSecond ?? 0).toFixed(0)} />
        <Tile name="Answers under way" value={String(sample?.running ?? 0)} />
        <Tile name="Waiting in line" value={String(sample?.waiting ?? 0)} />
        <Tile name="Memory of models" value={bytesInWords(sample?.memoryBytes ?? 0)} />
      </dl>
      <Suspense fallback={<Loading label="Loading the charts" />}>
        <div className="charts">
          <Chart title="Tokens per second" points={points} series={[{ label: "Tokens", of: tokens }]} />
          <Chart
            title="Requests"
            points={points}
            series={[
              { label: "Under way", of: ({ running }) => running },
              { label: "Waiting", of: ({ waiting }) => waiting },
            ]}
          />
          <Chart title="Memory of models, MB" points={points} series={[{ label: "MB", of: megabytes }]} />
          <Chart
            title="Requests answered per second"
            points={points}
            series={[{ label: "Requests", of: requests }]}
          />
        </div>
      </Suspense>
      <LoadedModels loaded={loaded} />
      <Numbers points={points} />
    </>
  );
}

const tokens = ({ tokensPerSecond }: Point): number => tokensPerSecond;
const requests = ({ requestsPerSecond }: Point): number => requestsPerSecond;
const megabytes = ({ memoryBytes }: Point): number => memoryBytes / 1e6;

function Tile({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <div className="card tile">
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

function LoadedModels({ loaded }: { readonly loaded: readonly RunningModel[] }) {
  return (
    <section className="stack tight" aria-labelledby="loaded">
      <h2 id="loaded">Models in memory</h2>
      {loaded.length === 0 && <p className="quiet">None. The first question to a model loads it.</p>}
      {loaded.length > 0 && (
        <ul className="card model-list">
          {loaded.map((model) => (
            <li key={model.name} className="model">
              <strong className="breaks">{model.name}</strong>
              <span className="quiet small">
                {[
                  bytesInWords(model.size),
                  model.size_vram > 0 ? `${bytesInWords(model.size_vram)} on the GPU` : "on the CPU",
                  `context ${model.context_length.toLocaleString("en")}`,
                  `stays ${staysFor(model.expires_at)}`,
                ].join(" · ")}
              </span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function staysFor(expiresAt: string): string {
  const minutes = (Date.parse(expiresAt) - Date.now()) / 60_000;
  if (minutes > 60 * 24 * 365) return "for good";
  return minutes < 1 ? "less than a minute" : `about ${Math.round(minutes)} min`;
}

const shownRows = 10;

/** What the charts show, in words. */
function Numbers({ points }: { readonly points: readonly Point[] }) {
  return (
    <details className="part">
      <summary>The last {shownRows} seconds as a table</summary>
      <section className="wide-table" aria-label="The last seconds" tabIndex={0}>
        <table className="table">
          <thead>
            <tr>
              <th>Time</th>
              <th>Tokens/s</th>
              <th>Under way</th>
              <th>Waiting</th>
              <th>Memory</th>
            </tr>
          </thead>
          <tbody>
            {points.slice(-shownRows).map((point) => (
              <tr key={point.at}>
                <td>{new Date(point.at * 1000).toLocaleTimeString()}</td>
                <td>{point.tokensPerSecond.toFixed(1)}</td>
                <td>{point.running}</td>
                <td>{point.waiting}</td>
                <td>{bytesInWords(point.memoryBytes)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </details>
  );
}
