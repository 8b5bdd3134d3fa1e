import { Type } from "typebox";
import { described } from "./described.ts";

/** Every object may have only the fields of its schema. */
export const closed = { additionalProperties: false } as const;

/** As a regular expression, without its anchors. */
export const uuid = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}";

/** Fields shared by several resources; `x-expected` completes "must be …" when a value does not match its pattern. */
export const id = Type.String({
  format: "uuid",
  pattern: `^${uuid}$`,
  maxLength: 36,
  "x-expected": "an id such as 0198c0de-7c1a-7f00-8000-5a1e5a1e5a1e",
});

export const timestamp = Type.String({
  format: "date-time",
  maxLength: 32,
  "x-expected": "a date and time such as 2026-01-31T12:00:00.000Z",
});

const labelPattern = "^[^\\s\\p{C}](?:[^\\p{C}]*[^\\s\\p{C}])?$";

/** One line of text: no control characters, no lone surrogates, no leading or trailing blanks. */
export function lineOfText(maxLength: number) {
  return Type.String({
    minLength: 1,
    maxLength,
    pattern: labelPattern,
    "x-expected": `one line of 1 to ${maxLength} characters, without blanks at its start or end`,
  });
}

export const label = lineOfText(255);

/** A vault's change counter, incremented by every change to the vault or its contents. */
export const revision = Type.Integer({
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  description: "Changes whenever the vault or its contents change",
});

/** Query parameter: maximum number of items per page. */
export const pageLimit = Type.String({
  pattern: "^(?:[1-9][0-9]?|1[0-9]{2}|200)$",
  maxLength: 3,
  description: "Maximum number of items in the response, from 1 to 200",
  "x-expected": "a whole number from 1 to 200",
});

/** Query parameter: opaque cursor from the previous page. */
export const cursor = Type.String({
  pattern: "^[0-9A-Za-z_-]+$",
  minLength: 1,
  maxLength: 8192,
  description: "Where the page begins: `next_cursor` of the page before it",
  "x-expected": "the next_cursor of an earlier page",
});

/** In a response. */
export const nextCursor = Type.Optional(
  described(cursor, "Send it as `cursor` to get the next page; absent on the last page"),
);

/** Query parameter: boolean. */
export const flag = Type.Enum(["true", "false"]);

export const count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

export const nullable = <Shape extends Type.TSchema>(shape: Shape) => Type.Union([shape, Type.Null()]);

/** A path in which `*` matches one segment and a final `**` matches one or more. */
export const pathPattern = Type.String({
  minLength: 2,
  maxLength: 1024,
  pattern: "^(?:/(?:\\*|[^/*\\p{Cc}\\p{Cs}]+))*(?:/\\*\\*)?$",
  "x-expected":
    "a path pattern such as /prod/**, in which * stands for one segment and a final ** for one or more",
});
