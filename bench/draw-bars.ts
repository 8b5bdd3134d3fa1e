export type Bar = { readonly label: string; readonly value: number; readonly isOurs: boolean };

const rowHeight = 22;
const labelWidth = 200;
const barWidth = 480;

/** A plain horizontal bar chart, readable on light and dark backgrounds. */
export function drawBars(title: string, bars: readonly Bar[]): string {
  const largest = Math.max(...bars.map((bar) => bar.value), Number.MIN_VALUE);
  const rows = bars.map((bar, index) => {
    const top = 36 + index * rowHeight;
    const width = (barWidth * bar.value) / largest;
    return [
      `<text x="${labelWidth - 8}" y="${top + 15}" text-anchor="end">${escapeText(bar.label)}</text>`,
      `<rect x="${labelWidth}" y="${top + 3}" width="${width.toFixed(1)}" height="16" fill="${bar.isOurs ? "#c2571a" : "#5b7a9d"}"/>`,
      `<text x="${(labelWidth + width + 6).toFixed(1)}" y="${top + 15}">${bar.value.toFixed(1)}</text>`,
    ].join("");
  });
  const height = 48 + bars.length * rowHeight;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="780" height="${height}" font-family="sans-serif" font-size="12" fill="#777">`,
    `<text x="8" y="20" font-size="14" font-weight="bold">${escapeText(title)}</text>`,
    ...rows,
    "</svg>",
    "",
  ].join("\n");
}

function escapeText(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
