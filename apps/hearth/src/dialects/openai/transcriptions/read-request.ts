import type { AudioClip, Message } from "@hearth-and-keep/engine";
import type { Actor } from "../../../access/authenticate.ts";
import { readUploadedAudio } from "../../../audio/read-audio.ts";
import type { GenerationRequest } from "../../../generation/request.ts";
import type { ModelDescription } from "../../../models/metadata/describe-model.ts";
import type { TranscriptionForm } from "./read-form.ts";

/** As in llama.cpp's own server, whose models were tried with it. */
const instruction = "Transcribe audio to text";

/** A chat of one message. Without a temperature the most likely words are chosen, as in OpenAI's API. */
export function readRequest(
  form: TranscriptionForm,
  model: ModelDescription,
  actor: Actor,
): GenerationRequest {
  const clip = readUploadedAudio(toBuffer(form.file), "file");
  const message: Message = { role: "user", content: writeInstruction(form), audio: [clip] };
  return {
    model,
    input: { type: "conversation", conversation: { messages: [message], thinking: false } },
    toolChoice: { type: "none" },
    sampling: { temperature: form.temperature ?? 0, maxTokens: maxTokensOf(clip) },
    cachePartition: actor.cachePartition,
    overflow: "reject",
  };
}

/** Nobody speaks that fast. Without a limit, a model that repeats itself would fill its whole context. */
const maxTokensPerSecond = 20;
const minTokens = 128;

function maxTokensOf({ seconds }: AudioClip): number {
  return minTokens + Math.ceil(seconds * maxTokensPerSecond);
}

/** OpenAI's prompt is text that precedes the audio, so it must not replace the instruction. */
function writeInstruction({ language, prompt }: TranscriptionForm): string {
  const inLanguage = language === undefined ? "" : ` (language: ${language})`;
  const context = prompt === undefined ? "" : `\nText before it, or words in it: ${prompt}`;
  return `${instruction}${inLanguage}${context}`;
}

function toBuffer({ buffer, byteOffset, byteLength }: Uint8Array<ArrayBuffer>): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
