import type UPlot from "uplot";
import { formatCompact } from "../../design/format-number.ts";
import { type ChartColor, Plot, type PlotStyle } from "../charts/plot.tsx";
import type { Point } from "./parse-metrics.ts";

type Series = { readonly label: string; readonly of: (point: Point) => number };

export type ChartProps = {
  readonly title: string;
  readonly points: readonly Point[];
  /** At most as many as there are colors. */
  readonly series: readonly Series[];
};

const windowSeconds = 120;
const height = 180;
const colors: readonly ChartColor[] = [0, 1, 2];

/** A line chart of the last two minutes. The table on the same screen has the values as text. */
export default function Chart({ title, points, series }: ChartProps) {
  return (
    <Plot
      title={title}
      description={describe(points, series)}
      legend={series.map(({ label }, index) => ({ label, color: colorAt(index) }))}
      values={[points.map(({ at }) => at), ...series.map(({ of }) => points.map(of))]}
      createOptions={(style) => createOptions(series, style)}
    />
  );
}

function colorAt(index: number): ChartColor {
  return colors[index] ?? 0;
}

function describe(points: readonly Point[], series: readonly Series[]): string {
  const last = points.at(-1);
  return series.map(({ label, of }) => `${label} ${last === undefined ? 0 : of(last).toFixed(0)}`).join(", ");
}

function createOptions(
  series: readonly Series[],
  { axis, line, fill }: PlotStyle,
): Omit<UPlot.Options, "width"> {
  return {
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
      { ...axis, size: 48, space: 44, values: (_plot, ticks) => ticks.map(formatCompact) },
    ],
    series: [
      {},
      ...series.map(({ label }, index) => ({
        label,
        stroke: line(colorAt(index)),
        fill: index === 0 ? fill : "transparent",
        width: 2,
        points: { show: false },
      })),
    ],
  };
}

function formatTime(at: number): string {
  return new Date(at * 1000).toLocaleTimeString([], {
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    hourCycle: "h23",
  });
}
