import type { NewSecretBody, SecretMetadata, SecretValue } from "@hearth-and-keep/vault-contract";

export type SecretType = SecretMetadata["type"];

type ChosenFile = { readonly name: string; readonly size: number; readonly base64: string };

/** What somebody is writing, before it is saved. */
export type Draft = {
  readonly type: SecretType;
  readonly text: string;
  /** For bytes; undefined keeps the ones that are there. */
  readonly file: ChosenFile | undefined;
  /** With commas between them. */
  readonly tags: string;
  readonly note: string;
};

export const emptyDraft: Draft = { type: "text", text: "", file: undefined, tags: "", note: "" };

const mostBytes: Readonly<Record<SecretType, number>> = {
  text: 65_536,
  json: 65_536,
  binary: 65_536,
  file: 1_048_576,
};

export function isOfBytes(type: SecretType): boolean {
  return type === "binary" || type === "file";
}

export function draftOf(secret: Pick<SecretMetadata, "tags">, value: SecretValue): Draft {
  return {
    type: value.type,
    text: isOfBytes(value.type) ? "" : value.value,
    file: undefined,
    tags: secret.tags.join(", "),
    note: value.note ?? "",
  };
}

/** What is wrong with it before Keep is asked, in words that hold nothing of the value. */
export function mistakeIn(draft: Draft, hasValue: boolean): string | undefined {
  if (isOfBytes(draft.type)) {
    if (draft.file === undefined) return hasValue ? undefined : "Choose a file";
    return draft.file.size > mostBytes[draft.type] ? tooLong(draft.type) : undefined;
  }
  if (new TextEncoder().encode(draft.text).length > mostBytes[draft.type]) return tooLong(draft.type);
  return draft.type === "json" && !isJson(draft.text) ? "This is not JSON" : undefined;
}

function tooLong(type: SecretType): string {
  return type === "file" ? "A file may have 1 MiB at most" : "A value may have 64 KiB at most";
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function tagsIn(text: string): string[] {
  const tags = text.split(",").map((tag) => tag.trim());
  return [...new Set(tags.filter((tag) => tag !== ""))];
}

/** The whole of it as Keep takes it; `before` gives the bytes that stay. */
export function bodyOf(draft: Draft, before?: SecretValue): NewSecretBody {
  const about = { type: draft.type, tags: tagsIn(draft.tags), note: draft.note === "" ? null : draft.note };
  if (!isOfBytes(draft.type)) return { value: draft.text, encoding: "utf8", ...about };
  if (draft.file !== undefined) return { value: draft.file.base64, encoding: "base64", ...about };
  return { value: before?.value ?? "", encoding: before?.encoding ?? "base64", ...about };
}

/** Whether the value itself is another, so that a new version is needed. */
export function isNewValue(draft: Draft, before: SecretValue): boolean {
  if (draft.type !== before.type) return true;
  return isOfBytes(draft.type) ? draft.file !== undefined : draft.text !== before.value;
}
