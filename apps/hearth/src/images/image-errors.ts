/** Replaces the engine's own message, which may contain memory addresses. */
export const unreadableImageMessage =
  "Cannot decode an image: its header is valid, but its data is damaged or truncated; save the image again and resend it";

/** The engine does not say whether a sound or an image beside it is damaged. */
export const unreadableAudioMessage =
  "Cannot decode the audio, or an image beside it: its header is valid, but its data is damaged or truncated; save the file again and resend it";

const advice: Readonly<Record<string, string>> = {
  images: '; run "hearth engine install" to install an engine that does',
  "audio input": '; run "hearth engine install" to install an engine that does',
  vision: "; use a model with an image projector, or remove the images",
  audio: "; use a model whose projector has an audio encoder, or remove the audio",
};

/** What to do about an unsupported feature, appended to the error; empty if there is no advice. */
export function adviceFor(feature: string): string {
  return advice[feature] ?? "";
}
