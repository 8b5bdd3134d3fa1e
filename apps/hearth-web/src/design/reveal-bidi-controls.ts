const bidiControls = /[\u202A-\u202E\u2066-\u2069]/gu;

/** Shows bidirectional control characters by code point, because they can make text read as something else. */
export function revealBidiControls(text: string): string {
  return text.replaceAll(
    bidiControls,
    (control) => `⟦U+${control.charCodeAt(0).toString(16).toUpperCase()}⟧`,
  );
}
