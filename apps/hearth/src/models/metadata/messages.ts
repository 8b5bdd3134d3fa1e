import { Compile } from "typebox/compile";
import { parseJson } from "../store/parse-json.ts";
import { messagesSchema } from "./schema.ts";

/** A message that is prepended to every conversation with the model. */
export type StoredMessage = { readonly role: "system" | "user" | "assistant"; readonly content: string };

const validator = Compile(messagesSchema);

/** Throws SchemaError when the content is not a list of messages. */
export function parseMessages(content: Uint8Array): readonly StoredMessage[] {
  return parseJson(content, validator).map(({ role, content: text }) => ({ role, content: text ?? "" }));
}
