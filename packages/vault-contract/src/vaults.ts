import { type Static, Type } from "typebox";
import { id, label, moment } from "./shared-fields.ts";

/** A vault as everybody sees it: exactly these four fields. */
export const vault = Type.Object(
  { id, name: label, is_encrypted: Type.Boolean(), created_at: moment },
  { additionalProperties: false },
);

export type Vault = Static<typeof vault>;

export const vaultList = Type.Array(vault, { maxItems: 200 });
