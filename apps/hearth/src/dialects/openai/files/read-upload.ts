import type { MultipartForm } from "@hearth-and-keep/http-service";
import type { StoredFile } from "../../../batches/stored-file.ts";
import { invalidField } from "../../../failures.ts";

export type Upload = Pick<StoredFile, "fileName" | "content"> & {
  readonly purpose: "batch" | "user_data";
  /** Absent if the client sets none. */
  readonly lifetimeSeconds?: number;
};

type Expiry = Pick<Upload, "lifetimeSeconds">;

const anchorField = "expires_after[anchor]";
const secondsField = "expires_after[seconds]";
const knownFields = new Set(["purpose", "file", anchorField, secondsField]);

const maxFileNameLength = 255;
const [minSeconds, maxSeconds] = [3600, 2_592_000];

/** Reads the form of an upload; `ignored` are its fields without effect. */
export function readUpload({ fields, files }: MultipartForm): {
  readonly upload: Upload;
  readonly ignored: readonly string[];
} {
  const valueOf = (wanted: string): string | undefined => fields.find(({ name }) => name === wanted)?.value;
  const purpose = valueOf("purpose");
  if (purpose !== "batch" && purpose !== "user_data") {
    throw invalidField("purpose", 'must be "batch" or "user_data"; other purposes are not supported');
  }
  const [file, another] = files.filter(({ name }) => name === "file");
  if (file === undefined || another !== undefined) throw invalidField("file", "must be one file");
  const { fileName, bytes } = file;
  if (fileName === "" || fileName.length > maxFileNameLength) {
    throw invalidField("file", `must have a name of at most ${maxFileNameLength} characters`);
  }
  const expiry = readExpiry(valueOf(anchorField), valueOf(secondsField));
  const names = [...fields, ...files].map(({ name }) => name);
  return {
    upload: { purpose, fileName, content: bytes, ...expiry },
    ignored: names.filter((name) => !knownFields.has(name)),
  };
}

function readExpiry(anchor: string | undefined, seconds: string | undefined): Expiry {
  if (anchor === undefined && seconds === undefined) return {};
  if (anchor !== "created_at") throw invalidField("expires_after.anchor", 'must be "created_at"');
  const lifetimeSeconds = Number(seconds);
  if (Number.isInteger(lifetimeSeconds) && lifetimeSeconds >= minSeconds && lifetimeSeconds <= maxSeconds) {
    return { lifetimeSeconds };
  }
  throw invalidField("expires_after.seconds", `must be an integer between ${minSeconds} and ${maxSeconds}`);
}
