import type { NewSecretBody, SecretMetadata, SecretValue } from "@hearth-and-keep/vault-contract";

export type SecretType = SecretMetadata["type"];

type ChosenFile = { readonly name: string; readonly size: number; readonly base64: string };

/** Unsaved form content. */
export type SecretDraft = {
  readonly type: SecretType;
  readonly text: string;
  /** For binary types; undefined keeps the stored bytes. */
  readonly file: ChosenFile | undefined;
  /** Comma-separated. */
  readonly tags: string;
  readonly note: string;
};

export const emptyDraft: SecretDraft = { type: "text", text: "", file: undefined, tags: "", note: "" };

const maxBytes: Readonly<Record<SecretType, number>> = {
  text: 65_536,
  json: 65_536,
  binary: 65_536,
  file: 1_048_576,
};

export function isBinary(type: SecretType): boolean {
  return type === "binary" || type === "file";
}

export function toDraft(secret: Pick<SecretMetadata, "tags">, value: SecretValue): SecretDraft {
  return {
    type: value.type,
    text: isBinary(value.type) ? "" : value.value,
    file: undefined,
    tags: secret.tags.join(", "),
    note: value.note ?? "",
  };
}

/** An error message that never contains any of the value; undefined when the draft is valid. */
export function validateDraft(draft: SecretDraft, hasStoredValue: boolean): string | undefined {
  if (isBinary(draft.type)) {
    if (draft.file === undefined) return hasStoredValue ? undefined : "Choose a file";
    return draft.file.size > maxBytes[draft.type] ? tooLargeMessage(draft.type) : undefined;
  }
  if (new TextEncoder().encode(draft.text).length > maxBytes[draft.type]) return tooLargeMessage(draft.type);
  return draft.type === "json" && !isJson(draft.text) ? "Value must be valid JSON" : undefined;
}

function tooLargeMessage(type: SecretType): string {
  return type === "file" ? "A file can be at most 1 MiB" : "A value can be at most 64 KiB";
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function parseTags(text: string): string[] {
  const tags = text.split(",").map((tag) => tag.trim());
  return [...new Set(tags.filter((tag) => tag !== ""))];
}

/** The request body; `stored` supplies the bytes of a binary secret whose file was not replaced. */
export function toRequestBody(draft: SecretDraft, stored?: SecretValue): NewSecretBody {
  const metadata = {
    type: draft.type,
    tags: parseTags(draft.tags),
    note: draft.note === "" ? null : draft.note,
  };
  if (!isBinary(draft.type)) return { value: draft.text, encoding: "utf8", ...metadata };
  if (draft.file !== undefined) return { value: draft.file.base64, encoding: "base64", ...metadata };
  return { value: stored?.value ?? "", encoding: stored?.encoding ?? "base64", ...metadata };
}

/** Whether saving needs a new version; otherwise only tags and note changed. */
export function isValueChanged(draft: SecretDraft, stored: SecretValue): boolean {
  if (draft.type !== stored.type) return true;
  return isBinary(draft.type) ? draft.file !== undefined : draft.text !== stored.value;
}
