import { useEffect, useRef } from "react";
import UPlot from "uplot";
import { useStore } from "../../state/store.ts";
import { theme } from "../../state/theme.ts";
import type { Point } from "./parse-metrics.ts";

type Series = { readonly label: string; readonly of: (point: Point) => number };

export type ChartProps = {
  readonly title: string;
  readonly points: readonly Point[];
  readonly series: readonly Series[];
};

const windowSeconds = 120;
const height = 180;

/** A line chart of the last two minutes on a canvas. The table on the same screen has the values as text. */
export default function Chart({ title, points, series }: ChartProps) {
  const container = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot>(undefined);
  const currentTheme = useStore(theme);
  const latest = useRef({ points, series });
  latest.current = { points, series };
  useEffect(() => {
    const element = container.current;
    if (element === null) return undefined;
    let created = createPlot(element, latest.current);
    plot.current = created;
    const recreate = (): void => {
      created.destroy();
      created = createPlot(element, latest.current);
      plot.current = created;
    };
    const observer = new ResizeObserver(() => created.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    // A canvas does not pick up changed CSS colors by itself.
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", recreate);
    return () => {
      scheme.removeEventListener("change", recreate);
      observer.disconnect();
      created.destroy();
    };
  }, [currentTheme]);
  useEffect(() => {
    plot.current?.setData(toPlotData({ points, series }));
  }, [points, series]);
  return (
    <figure className="card chart">
      <figcaption>
        {title}
        {series.length > 1 && (
          <span className="legend">
            {series.map(({ label }, index) => (
              <span key={label} className={`legend-${index}`}>
                {label}
              </span>
            ))}
          </span>
        )}
      </figcaption>
      <div ref={container} className="chart-canvas" role="img" aria-label={describe(title, points, series)} />
    </figure>
  );
}

type ChartData = Pick<ChartProps, "points" | "series">;

function toPlotData({ points, series }: ChartData): UPlot.AlignedData {
  return [points.map(({ at }) => at), ...series.map(({ of }) => points.map(of))];
}

function describe(title: string, points: readonly Point[], series: readonly Series[]): string {
  const last = points.at(-1);
  const values = series.map(({ label, of }) => `${label} ${last === undefined ? 0 : of(last).toFixed(0)}`);
  return `${title}: ${values.join(", ")}`;
}

function createPlot(element: HTMLElement, chart: ChartData): UPlot {
  const style = getComputedStyle(element);
  const color = (name: string): string => style.getPropertyValue(name);
  const axis = {
    stroke: color("--chart-text"),
    font: `12px ${style.fontFamily}`,
    grid: { stroke: color("--chart-grid"), width: 1 },
    ticks: { show: false },
  };
  return new UPlot(
    {
      width: element.clientWidth,
      height,
      legend: { show: false },
      cursor: { show: false },
      // Room on the right for half of the last time label.
      padding: [8, 30, 0, 0],
      scales: {
        x: { time: true, range: () => [Date.now() / 1000 - windowSeconds, Date.now() / 1000] },
        y: { range: (_plot, _min, max) => [0, Math.max(1, (max ?? 0) * 1.15)] },
      },
      axes: [
        {
          ...axis,
          size: 26,
          space: 90,
          grid: { show: false },
          values: (_plot, ticks) => ticks.map(formatTime),
        },
        { ...axis, size: 48, space: 44, values: (_plot, ticks) => ticks.map(formatNumber) },
      ],
      series: [
        {},
        ...chart.series.map(({ label }, index) => ({
          label,
          stroke: color(`--chart-line-${index}`),
          fill: index === 0 ? color("--chart-fill") : "transparent",
          width: 2,
          points: { show: false },
        })),
      ],
    },
    toPlotData(chart),
    element,
  );
}

function formatTime(at: number): string {
  return new Date(at * 1000).toLocaleTimeString([], {
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    hourCycle: "h23",
  });
}

function formatNumber(value: number): string {
  return Math.abs(value) >= 10_000 ? `${Math.round(value / 1000)}k` : String(Math.round(value * 100) / 100);
}
