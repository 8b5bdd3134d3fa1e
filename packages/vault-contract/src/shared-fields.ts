import { Type } from "typebox";

/** Fields shared by several resources. */
export const id = Type.String({
  format: "uuid",
  pattern: "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$",
  maxLength: 36,
});

export const timestamp = Type.String({ format: "date-time", maxLength: 32 });

/** One line of text: no control characters, no lone surrogates, no leading or trailing blanks. */
export const label = Type.String({
  minLength: 1,
  maxLength: 255,
  pattern: "^[^\\s\\p{C}](?:[^\\p{C}]*[^\\s\\p{C}])?$",
});

/** A vault's change counter, incremented by every change to the vault or its contents. */
export const revision = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

/** Query parameter: maximum number of items per page. */
export const pageLimit = Type.String({ pattern: "^(?:[1-9][0-9]?|1[0-9]{2}|200)$", maxLength: 3 });

/** Query parameter: opaque cursor from the previous page. */
export const cursor = Type.String({ pattern: "^[0-9A-Za-z_-]+$", minLength: 1, maxLength: 8192 });

/** Query parameter: boolean. */
export const flag = Type.Enum(["true", "false"]);
