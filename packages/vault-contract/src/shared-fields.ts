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
