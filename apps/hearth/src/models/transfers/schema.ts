import { Type } from "typebox";
import { orNull } from "../store/schema.ts";

/** One line of a download's journal. */
export const journalLineSchema = Type.Object({
  block: Type.Integer({ minimum: 0, maximum: 2 ** 32 }),
  crc32: Type.Integer({ minimum: 0, maximum: 2 ** 32 }),
});

/** The field of a stored manifest that a push sends as its content type. */
export const mediaTypeSchema = Type.Object({ mediaType: orNull(Type.String({ maxLength: 256 })) });
