/** The engine's own words about an image may tell where its memory lies, so nobody is told them. */
export const unreadableImage =
  "Cannot read an image: its head is well formed, but what follows is damaged or cut short; save it again and send it once more";

const ownAdvice: Readonly<Record<string, string>> = {
  images: '; "hearth engine install" fetches an engine that does',
  vision: "; use a model with an image projector, or send no images",
};

/** What a person can do about something that a model or its engine cannot; empty when there is nothing to say. */
export function adviceFor(feature: string): string {
  return ownAdvice[feature] ?? "";
}
