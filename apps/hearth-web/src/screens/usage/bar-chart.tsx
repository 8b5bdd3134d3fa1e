import { useMemo, useState } from "react";
import UPlot from "uplot";
import { formatCompact } from "../../design/format-number.ts";
import { type ChartColor, Plot, type PlotStyle } from "../charts/plot.tsx";
import { type Bar, describeBar, describeLargest, stackBars } from "./usage-bars.ts";

export type BarChartProps = {
  readonly title: string;
  /** At least one. */
  readonly bars: readonly Bar[];
  /** Columns from left to right, or rows from top to bottom. */
  readonly direction: "columns" | "rows";
  /** How many bars one label may stand for. */
  readonly labelSteps: readonly number[];
};

const legend: readonly { readonly label: string; readonly color: ChartColor }[] = [
  { label: "Input, not cached", color: 0 },
  { label: "Cached input", color: 2 },
  { label: "Output", color: 1 },
];

/** Stacked bars of tokens. A line below has the values of the bar under the pointer; tables have those of all. */
export default function BarChart({ title, bars, direction, labelSteps }: BarChartProps) {
  const [pointedAt, setPointedAt] = useState<number | null>();
  const values = useMemo<UPlot.AlignedData>(
    () => [bars.map(({ at }) => at), ...stackBars(bars).map((edges) => [...edges])],
    [bars],
  );
  const bar = bars[pointedAt ?? -1];
  return (
    <Plot
      title={title}
      description={describeLargest(bars)}
      legend={legend}
      values={values}
      createOptions={(style) => ({
        ...createOptions({ bars, direction, labelSteps }, style),
        hooks: { setCursor: [({ cursor }) => setPointedAt(cursor.idx)] },
      })}
    >
      <p className="chart-values muted small" aria-hidden="true">
        {bar === undefined ? describeLargest(bars) : describeBar(bar)}
      </p>
    </Plot>
  );
}

const height = 220;
const axisHeight = 26;

function createOptions(
  { bars, direction, labelSteps }: Omit<BarChartProps, "title">,
  { axis, line }: PlotStyle,
): Omit<UPlot.Options, "width"> {
  const isColumns = direction === "columns";
  const [first = 0, last = 0] = [bars[0]?.at, bars.at(-1)?.at];
  const ticks = new Map(bars.map(({ at, tick }) => [at, tick]));
  const fitTexts: UPlot.Axis.Size = (plot, texts) => measureTexts(plot, texts, axis.font);
  const labels: UPlot.Axis = {
    ...axis,
    scale: "x",
    size: isColumns ? axisHeight : fitTexts,
    space: isColumns ? 56 : 1,
    incrs: [...labelSteps],
    grid: { show: false },
    values: (_plot, positions) => positions.map((at) => ticks.get(at) ?? ""),
  };
  const tokens: UPlot.Axis = {
    ...axis,
    scale: "y",
    size: isColumns ? fitTexts : axisHeight,
    space: isColumns ? 40 : 60,
    incrs: tokenSteps,
    values: (_plot, positions) => positions.map(formatCompact),
  };
  const paths = UPlot.paths.bars?.({ size: [0.75, 48] });
  return {
    height,
    legend: { show: false },
    cursor: { x: false, y: false, points: { show: false }, drag: { x: false, y: false } },
    // Room for half of the last label.
    padding: [8, 24, 0, isColumns ? 0 : 8],
    scales: {
      x: { time: false, ori: isColumns ? 0 : 1, dir: isColumns ? 1 : -1, range: [first - 0.5, last + 0.5] },
      y: { ori: isColumns ? 1 : 0, range: (_plot, _min, max) => [0, Math.max(1, (max ?? 0) * 1.05)] },
    },
    // The first is at the bottom, the second on the left.
    axes: isColumns ? [labels, tokens] : [tokens, labels],
    series: [
      {},
      ...legend.toReversed().map(({ label, color }) => ({
        label,
        fill: line(color),
        width: 0,
        ...(paths === undefined ? {} : { paths }),
        points: { show: false },
      })),
    ],
  };
}

/** Whole tokens only. */
const tokenSteps = Array.from({ length: 20 }, (_, power) =>
  [1, 2, 5].map((step) => step * 10 ** power),
).flat();

/** In CSS pixels, with room beside the texts. */
function measureTexts(plot: UPlot, texts: readonly string[] | null, font: string): number {
  plot.ctx.font = font;
  const widths = (texts ?? []).map((text) => plot.ctx.measureText(text).width);
  return Math.ceil(Math.max(24, ...widths)) + 16;
}
