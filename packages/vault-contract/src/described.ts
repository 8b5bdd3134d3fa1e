import type { TSchema } from "typebox";

/** The schema with a description for the OpenAPI document. */
export function described<Schema extends TSchema>(schema: Schema, description: string): Schema {
  // Not spread: TypeBox marks kinds and optional fields with properties that are not enumerable.
  const members = Object.getOwnPropertyDescriptors(schema);
  const text = { value: description, enumerable: true, configurable: true, writable: true };
  // The same schema with one more annotation.
  return Object.defineProperties({}, { ...members, description: text }) as Schema;
}
