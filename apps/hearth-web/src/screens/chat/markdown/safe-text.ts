const turning = /[\u202A-\u202E\u2066-\u2069]/gu;
const mostShown = 200_000;

/** Characters that turn the direction of what follows can make text read as what it is not; they are named instead. */
export function showTurning(text: string): string {
  return text.replaceAll(turning, (mark) => `⟦U+${mark.charCodeAt(0).toString(16).toUpperCase()}⟧`);
}

/** What a page can draw at once; the rest is told in numbers and is there when the answer is copied. */
export function cutLong(text: string): string {
  if (text.length <= mostShown) return text;
  const left = text.length - mostShown;
  return `${text.slice(0, mostShown)}\n… and ${left.toLocaleString("en")} more characters: copy the answer to have them all`;
}

/** Links go to the web or to a mailbox, and nowhere else. */
export function safeAddress(href: string): string | undefined {
  if (!URL.canParse(href)) return undefined;
  return ["http:", "https:", "mailto:"].includes(new URL(href).protocol) ? href : undefined;
}
