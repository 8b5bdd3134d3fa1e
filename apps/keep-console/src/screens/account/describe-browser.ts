/** The first match wins: user agents also name the browsers they derive from. */
const browsers: readonly (readonly [RegExp, string])[] = [
  [/\bEdg(?:e|A|iOS)?\//u, "Edge"],
  [/\bOPR\//u, "Opera"],
  [/\bSamsungBrowser\//u, "Samsung Internet"],
  [/\b(?:Firefox|FxiOS)\//u, "Firefox"],
  [/\b(?:Headless)?Chrome\/|\bCriOS\//u, "Chrome"],
  [/\bChromium\//u, "Chromium"],
  [/\bSafari\//u, "Safari"],
];

const systems: readonly (readonly [RegExp, string])[] = [
  [/\biPhone\b/u, "iPhone"],
  [/\biPad\b/u, "iPad"],
  [/\bAndroid\b/u, "Android"],
  [/\bWindows\b/u, "Windows"],
  [/\bMac OS X\b|\bMacintosh\b/u, "macOS"],
  [/\bCrOS\b/u, "ChromeOS"],
  [/\bLinux\b|\bX11\b/u, "Linux"],
];

/** A short name for a User-Agent header, for example "Firefox on Linux". */
export function describeBrowser(userAgent: string | null): string {
  const text = userAgent ?? "";
  const find = (list: typeof browsers): string | undefined =>
    list.find(([pattern]) => pattern.test(text))?.[1];
  const browser = find(browsers);
  const system = find(systems);
  if (browser === undefined && system === undefined) return "Unknown browser";
  if (browser === undefined) return `Unknown browser on ${system}`;
  return system === undefined ? browser : `${browser} on ${system}`;
}
