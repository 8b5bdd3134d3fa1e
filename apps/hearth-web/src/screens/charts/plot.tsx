/**
 * @module
 * What the charts of all screens share: a figure with a title and a legend around a canvas, in the colors of the theme.
 * A canvas has no text, so every screen with a chart also has a table of its values.
 * Imported by the charts of the screens, which are loaded only when one is shown.
 */
import { type ReactNode, useEffect, useRef } from "react";
import UPlot from "uplot";
import { useStore } from "../../state/store.ts";
import { theme } from "../../state/theme.ts";

/** The number of a color in `theme.css`. */
export type ChartColor = 0 | 1 | 2;

export type PlotStyle = {
  readonly line: (color: ChartColor) => string;
  readonly fill: string;
  /** Options of every axis. */
  readonly axis: Pick<UPlot.Axis, "stroke" | "grid" | "ticks"> & { readonly font: string };
};

export type PlotProps = {
  readonly title: string;
  /** What the canvas shows, in words. */
  readonly description: string;
  readonly legend: readonly { readonly label: string; readonly color: ChartColor }[];
  /** The positions, then the values of each series. */
  readonly values: UPlot.AlignedData;
  readonly createOptions: (style: PlotStyle) => Omit<UPlot.Options, "width">;
  /** Below the canvas. */
  readonly children?: ReactNode;
};

export function Plot({ title, description, legend, values, createOptions, children }: PlotProps) {
  const container = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot>(undefined);
  const currentTheme = useStore(theme);
  const latest = useRef({ values, createOptions });
  latest.current = { values, createOptions };
  useEffect(() => {
    const element = container.current;
    if (element === null) return undefined;
    const create = (): UPlot => {
      const options = { ...latest.current.createOptions(readStyle(element)), width: element.clientWidth };
      return new UPlot(options, latest.current.values, element);
    };
    let created = create();
    plot.current = created;
    const recreate = (): void => {
      created.destroy();
      created = create();
      plot.current = created;
    };
    const observer = new ResizeObserver(() =>
      created.setSize({ width: element.clientWidth, height: created.height }),
    );
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
    plot.current?.setData(values);
  }, [values]);
  return (
    <figure className="card chart">
      <figcaption>
        {title}
        {legend.length > 1 && (
          <span className="legend">
            {legend.map(({ label, color }) => (
              <span key={label} className={`legend-${color}`}>
                {label}
              </span>
            ))}
          </span>
        )}
      </figcaption>
      <div ref={container} className="chart-canvas" role="img" aria-label={`${title}: ${description}`} />
      {children}
    </figure>
  );
}

function readStyle(element: HTMLElement): PlotStyle {
  const style = getComputedStyle(element);
  const color = (name: string): string => style.getPropertyValue(name);
  return {
    line: (number) => color(`--chart-line-${number}`),
    fill: color("--chart-fill"),
    axis: {
      stroke: color("--chart-text"),
      font: `12px ${style.fontFamily}`,
      grid: { stroke: color("--chart-grid"), width: 1 },
      ticks: { show: false },
    },
  };
}
