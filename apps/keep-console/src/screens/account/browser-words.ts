/** The first that is found counts: browsers name the ones they descend from as well. */
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

/** What a browser says of itself, in words that its owner recognises. */
export function sayBrowser(userAgent: string | null): string {
  const text = userAgent ?? "";
  const find = (list: typeof browsers): string | undefined => list.find(([sign]) => sign.test(text))?.[1];
  const browser = find(browsers);
  const system = find(systems);
  if (browser === undefined && system === undefined) return "An unknown browser";
  if (browser === undefined) return `A browser on ${system}`;
  return system === undefined ? browser : `${browser} on ${system}`;
}
