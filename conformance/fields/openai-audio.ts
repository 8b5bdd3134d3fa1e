import type { ServedEndpoint } from "./field-table.ts";

const noSpeakers = "models here do not tell speakers apart";

/** The form of `POST /v1/audio/transcriptions`. */
export const transcriptionFields: ServedEndpoint = {
  supported: ["file", "language", "model", "prompt", "response_format", "stream", "temperature"],
  ignored: {
    chunking_strategy: "the engine cuts audio into pieces",
    include: "there are no probabilities of words",
    keywords: 'they can be in "prompt"',
    known_speaker_names: noSpeakers,
    known_speaker_references: noSpeakers,
    languages: 'only one is named, in "language"',
  },
  refused: { timestamp_granularities: "language models do not say when words were spoken" },
};
