import type { MultipartForm } from "@hearth-and-keep/http-service";
import type { HearthRequest } from "../../../dependencies.ts";
import { invalidField } from "../../../failures.ts";
import { ignoredHeader } from "../../../ignored-header.ts";

export type TranscriptionForm = {
  readonly model: string;
  readonly file: Uint8Array<ArrayBuffer>;
  readonly format: "json" | "text";
  readonly isStream: boolean;
  readonly language?: string;
  /** Text before the audio, or words that occur in it. */
  readonly prompt?: string;
  readonly temperature?: number;
};

/** The longest value of each field that has an effect. */
const fieldLengths = {
  model: 1024,
  language: 64,
  prompt: 64 * 1024,
  response_format: 64,
  stream: 16,
  temperature: 32,
} as const;

type FieldName = keyof typeof fieldLengths;

/** Every value of a form is text. */
export function readForm(request: HearthRequest): TranscriptionForm {
  // The row has `body: "form"`.
  const form = request.body as MultipartForm;
  const values = readFields(form, request);
  const { model, language, prompt } = values;
  if (model === undefined || model === "")
    throw invalidField("model", "is missing; name a model that hears audio");
  return {
    model,
    file: readFile(form),
    format: readFormat(values.response_format ?? "json"),
    isStream: readFlag(values.stream ?? "false"),
    ...(language === undefined || language === "" ? {} : { language }),
    ...(prompt === undefined || prompt === "" ? {} : { prompt }),
    ...readTemperature(values.temperature ?? ""),
  };
}

/** Clients write a list as several fields with the same name and `[]`; none of those has an effect. */
function readFields(
  { fields }: MultipartForm,
  report: Pick<HearthRequest, "addLogFields" | "addResponseHeaders">,
): Readonly<Partial<Record<FieldName, string>>> {
  const values: Partial<Record<FieldName, string>> = {};
  const ignored: string[] = [];
  for (const { name, value } of fields) {
    if (name === "timestamp_granularities" || name.startsWith("timestamp_granularities["))
      throw invalidField("timestamp_granularities", noTimestamps);
    if (!isFieldName(name)) ignored.push(name.replace(/\[.*$/su, ""));
    else if (values[name] !== undefined) throw invalidField(name, "is in the form twice; send it once");
    else if (value.length > fieldLengths[name])
      throw invalidField(name, `has more than ${fieldLengths[name]} characters`);
    else values[name] = value;
  }
  if (ignored.length > 0) {
    report.addLogFields({ ignoredFields: ignored.length });
    report.addResponseHeaders(ignoredHeader({ fields: ignored }));
  }
  return values;
}

function isFieldName(name: string): name is FieldName {
  return Object.hasOwn(fieldLengths, name);
}

function readFile({ files }: MultipartForm): Uint8Array<ArrayBuffer> {
  const [first, second] = files;
  const other = files.find(({ name }) => name !== "file");
  if (other !== undefined) throw invalidField(other.name, 'is a file; send only one, as "file"');
  if (first === undefined) throw invalidField("file", "is missing; send the audio as a file of the form");
  if (second !== undefined) throw invalidField("file", "is in the form twice; send one file per request");
  return first.bytes;
}

const noTimestamps = "is not supported: language models do not say when words were spoken";

function readFormat(format: string): TranscriptionForm["format"] {
  if (format === "json" || format === "text") return format;
  const reason = ["verbose_json", "srt", "vtt", "diarized_json"].includes(format)
    ? `is "${format}", which needs timestamps or speakers; models here give only the words`
    : `is "${format}"`;
  throw invalidField("response_format", `${reason}; use "json" or "text"`);
}

function readFlag(value: string): boolean {
  const flag = { true: true, false: false, "1": true, "0": false, "": false }[value.toLowerCase()];
  if (flag === undefined) throw invalidField("stream", 'must be "true" or "false"');
  return flag;
}

function readTemperature(value: string): Pick<TranscriptionForm, "temperature"> {
  if (value === "") return {};
  const temperature = Number(value);
  if (temperature >= 0 && temperature <= 2) return { temperature };
  throw invalidField("temperature", "must be a number between 0 and 2");
}
