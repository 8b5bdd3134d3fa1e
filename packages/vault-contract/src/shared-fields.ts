import { Type } from "typebox";

/** Fields that several resources have, each with its bounds. */
export const id = Type.String({
  format: "uuid",
  pattern: "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$",
  maxLength: 36,
});

export const moment = Type.String({ format: "date-time", maxLength: 32 });

/** One line a person reads: no control characters, no halves of characters, no blanks at its ends. */
export const label = Type.String({
  minLength: 1,
  maxLength: 255,
  pattern: "^[^\\s\\p{C}](?:[^\\p{C}]*[^\\s\\p{C}])?$",
});

/** Of a vault: counts every change to it and what is in it. */
export const revision = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

/** In a query: how many items a page may have. */
export const pageLimit = Type.String({ pattern: "^(?:[1-9][0-9]?|1[0-9]{2}|200)$", maxLength: 3 });

/** In a query: where the page before ended. Made by the server, and of no use elsewhere. */
export const cursor = Type.String({ pattern: "^[0-9A-Za-z_-]+$", minLength: 1, maxLength: 8192 });

/** In a query: a switch. */
export const flag = Type.Enum(["true", "false"]);
