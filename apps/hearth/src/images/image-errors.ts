/** Replaces the engine's own message, which may contain memory addresses. */
export const unreadableImageMessage =
  "Cannot decode an image: its header is valid, but its data is damaged or truncated; save the image again and resend it";

const advice: Readonly<Record<string, string>> = {
  images: '; run "hearth engine install" to install an engine that does',
  vision: "; use a model with an image projector, or remove the images",
};

/** What to do about an unsupported feature, appended to the error; empty if there is no advice. */
export function adviceFor(feature: string): string {
  return advice[feature] ?? "";
}
