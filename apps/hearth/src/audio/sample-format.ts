/** Why audio is rejected. Completes a sentence that starts with its path in the body, e.g. "is damaged". */
export type RejectedAudio = { readonly reason: string };

/** Far outside of what recorders write. Engines convert to 16 kHz, so a low rate would multiply the samples. */
const sampleRates = { min: 8000, max: 192_000 } as const;
const maxChannels = 8;

export type SampleFormat = { readonly sampleRate: number; readonly channels: number };

/** Why a format is rejected; undefined if it is not. */
export function checkSampleFormat({ sampleRate, channels }: SampleFormat): string | undefined {
  if (sampleRate < sampleRates.min || sampleRate > sampleRates.max) {
    return `has ${sampleRate} samples per second; the sample rate must be between ${sampleRates.min} and ${sampleRates.max} Hz`;
  }
  return channels < 1 || channels > maxChannels
    ? `has ${channels} channels; at least 1 and at most ${maxChannels} are supported`
    : undefined;
}
