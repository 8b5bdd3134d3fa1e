import type { Screen } from "@hearth-and-keep/terminal";

export type ThroughputChart = {
  readonly title: string;
  readonly points: readonly { readonly clients: number; readonly tokensPerSecond: number }[];
};

const barEighths = " ▏▎▍▌▋▊▉█";
const maxBarColumns = 50;

/** A horizontal bar chart that starts at zero. */
export function renderChart({ title, points }: ThroughputChart, screen: Screen): readonly string[] {
  const highest = highestThroughput(points);
  const columns = Math.max(8, Math.min(maxBarColumns, screen.columns() - 24));
  const rows = points.map(({ clients, tokensPerSecond }) => {
    const eighths = Math.round((tokensPerSecond / highest) * columns * 8);
    const bar = "█".repeat(Math.floor(eighths / 8)) + (barEighths[eighths % 8] ?? "").trim();
    return `${String(clients).padStart(4)} ${screen.style("cyan", bar)} ${tokensPerSecond.toFixed(1)}`;
  });
  return [screen.style("bold", title), ...rows];
}

const width = 640;
const height = 360;
const margin = 56;

/** A line chart as self-contained SVG. */
export function renderChartAsSvg({ title, points }: ThroughputChart): string {
  const highest = highestThroughput(points);
  const lastClients = Math.max(1, ...points.map(({ clients }) => clients));
  const plotted = points.map(({ clients, tokensPerSecond }) => ({
    x: margin + (Math.log2(clients) / Math.max(1, Math.log2(lastClients))) * (width - 2 * margin),
    y: height - margin - (tokensPerSecond / highest) * (height - 2 * margin),
    label: tokensPerSecond.toFixed(1),
    clients,
  }));
  const line = plotted.map(({ x, y }) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ");
  const markers = plotted.map(
    ({ x, y, label, clients }) =>
      `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="4" fill="#c2410c"/>` +
      `<text x="${x.toFixed(1)}" y="${(y - 10).toFixed(1)}" text-anchor="middle">${label}</text>` +
      `<text x="${x.toFixed(1)}" y="${height - margin + 20}" text-anchor="middle">${clients}</text>`,
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12">`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    `<text x="${margin}" y="28" font-size="15">${escapeText(title)}</text>`,
    `<path d="M${margin} ${margin}V${height - margin}H${width - margin}" fill="none" stroke="#888"/>`,
    `<polyline points="${line}" fill="none" stroke="#c2410c" stroke-width="2"/>`,
    ...markers,
    `<text x="${width / 2}" y="${height - 14}" text-anchor="middle">concurrent clients</text>`,
    "</svg>",
    "",
  ].join("\n");
}

function highestThroughput(points: ThroughputChart["points"]): number {
  return Math.max(0.001, ...points.map(({ tokensPerSecond }) => tokensPerSecond));
}

function escapeText(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
