import { useEffect, useRef } from "react";
import UPlot from "uplot";
import { useStore } from "../../state/store.ts";
import { theme } from "../../state/theme.ts";
import type { Point } from "./read-metrics.ts";

type Series = { readonly label: string; readonly of: (point: Point) => number };

export type ChartProps = {
  readonly title: string;
  readonly points: readonly Point[];
  readonly series: readonly Series[];
};

const shownSeconds = 120;
const height = 180;

/** Lines over the last two minutes, drawn on a canvas; the table below says the same in words. */
export default function Chart({ title, points, series }: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot>(undefined);
  const look = useStore(theme);
  const shown = useRef({ points, series });
  shown.current = { points, series };
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    let made = make(element, shown.current);
    plot.current = made;
    const anew = (): void => {
      made.destroy();
      made = make(element, shown.current);
      plot.current = made;
    };
    const watcher = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }));
    watcher.observe(element);
    // A canvas does not follow the page's colours by itself.
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", anew);
    return () => {
      scheme.removeEventListener("change", anew);
      watcher.disconnect();
      made.destroy();
    };
  }, [look]);
  useEffect(() => {
    plot.current?.setData(linesOf({ points, series }));
  }, [points, series]);
  return (
    <figure className="card chart">
      <figcaption>
        {title}
        {series.length > 1 && (
          <span className="legend">
            {series.map(({ label }, line) => (
              <span key={label} className={`legend-${line}`}>
                {label}
              </span>
            ))}
          </span>
        )}
      </figcaption>
      <div ref={place} className="chart-place" role="img" aria-label={describe(title, points, series)} />
    </figure>
  );
}

type Lines = Pick<ChartProps, "points" | "series">;

function linesOf({ points, series }: Lines): UPlot.AlignedData {
  return [points.map(({ at }) => at), ...series.map(({ of }) => points.map(of))];
}

function describe(title: string, points: readonly Point[], series: readonly Series[]): string {
  const last = points.at(-1);
  const values = series.map(({ label, of }) => `${label} ${last === undefined ? 0 : of(last).toFixed(0)}`);
  return `${title}: ${values.join(", ")}`;
}

function make(element: HTMLElement, lines: Lines): UPlot {
  const style = getComputedStyle(element);
  const colour = (name: string): string => style.getPropertyValue(name);
  const axis = {
    stroke: colour("--chart-words"),
    font: `12px ${style.fontFamily}`,
    grid: { stroke: colour("--chart-grid"), width: 1 },
    ticks: { show: false },
  };
  return new UPlot(
    {
      width: element.clientWidth,
      height,
      legend: { show: false },
      cursor: { show: false },
      padding: [8, 8, 0, 0],
      scales: {
        x: { time: true, range: () => [Date.now() / 1000 - shownSeconds, Date.now() / 1000] },
        y: { range: (_plot, _least, most) => [0, Math.max(1, (most ?? 0) * 1.15)] },
      },
      axes: [
        {
          ...axis,
          size: 26,
          space: 90,
          grid: { show: false },
          values: (_plot, ticks) => ticks.map(secondsAgo),
        },
        { ...axis, size: 48, space: 44, values: (_plot, ticks) => ticks.map(shortNumber) },
      ],
      series: [
        {},
        ...lines.series.map(({ label }, place) => ({
          label,
          stroke: colour(`--chart-line-${place}`),
          fill: place === 0 ? colour("--chart-fill") : "transparent",
          width: 2,
          points: { show: false },
        })),
      ],
    },
    linesOf(lines),
    element,
  );
}

function secondsAgo(at: number): string {
  return new Date(at * 1000).toLocaleTimeString([], {
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    hourCycle: "h23",
  });
}

function shortNumber(value: number): string {
  return Math.abs(value) >= 10_000 ? `${Math.round(value / 1000)}k` : String(Math.round(value * 100) / 100);
}
