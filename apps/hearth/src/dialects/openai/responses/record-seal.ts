import { createHmac } from "node:crypto";
import { deserialize, serialize } from "node:v8";
import { decrypt, encrypt } from "../../../encryption/authenticated-encryption.ts";
import { deriveKey } from "../../../encryption/machine-key.ts";
import type { StoredRecord } from "./stored-record.ts";

export type OwnedRecord = {
  /** The API key that the record belongs to. */
  readonly keyName: string;
  readonly record: StoredRecord;
};

/** Encrypts records for files. Neither a file's name nor its content reveals the record, its id or its API key. */
export type RecordSeal = {
  /** The name of the record's file: 64 hexadecimal digits. */
  readonly nameOf: (keyName: string, id: string) => string;
  readonly seal: (owned: OwnedRecord) => Uint8Array;
  /** Undefined for a file that was changed, renamed, or written with another machine key. */
  readonly open: (name: string, sealed: Uint8Array) => OwnedRecord | undefined;
};

/**
 * The name is a MAC over the API key's name and the record's id, and the associated data of the content: a file that is
 * renamed to belong to another API key or to another id cannot be opened.
 */
export function createRecordSeal(machineKey: Uint8Array): RecordSeal {
  const nameKey = deriveKey(machineKey, "names of stored responses");
  const contentKey = deriveKey(machineKey, "content of stored responses");
  const nameOf = (keyName: string, id: string): string =>
    createHmac("sha256", nameKey)
      .update(JSON.stringify([keyName, id]))
      .digest("hex");
  return {
    nameOf,
    // V8's format takes as many bytes for a text as memory does, so the limits of memory hold on disk too.
    seal: (owned) => encrypt(contentKey, serialize(owned), nameOf(owned.keyName, owned.record.id)),
    open: (name, sealed) => {
      const content = decrypt(contentKey, sealed, name);
      return content === undefined ? undefined : readContent(content);
    },
  };
}

function readContent(content: Uint8Array): OwnedRecord | undefined {
  try {
    // Authenticated, so it was written by `seal`.
    return deserialize(content) as OwnedRecord;
  } catch {
    // Written by a newer version of Node.
    return undefined;
  }
}
