const maxCharacters = 200_000;

/** Cuts text that is too long to draw. The copy button still copies all of it. */
export function truncateText(text: string): string {
  if (text.length <= maxCharacters) return text;
  const rest = text.length - maxCharacters;
  return `${text.slice(0, maxCharacters)}\n… ${rest.toLocaleString("en")} more characters; copy the response to get all of it`;
}

/** Undefined for URLs that are neither web nor mail addresses. */
export function safeUrl(href: string): string | undefined {
  if (!URL.canParse(href)) return undefined;
  return ["http:", "https:", "mailto:"].includes(new URL(href).protocol) ? href : undefined;
}
