import { asFields, parseJson, ShapeError, textField } from "../store/json-fields.ts";

/** A turn that stands before every conversation with the model. */
export type StoredMessage = { readonly role: "system" | "user" | "assistant"; readonly content: string };

export const mostMessageBytes = 4 * 1024 * 1024;
const mostMessages = 4096;

/** Throws ShapeError when the bytes are no list of messages. */
export function parseMessages(content: Uint8Array): readonly StoredMessage[] {
  const list = parseJson(content);
  if (!Array.isArray(list) || list.length > mostMessages) {
    throw new ShapeError(`the messages are not a list of at most ${mostMessages}`);
  }
  return list.map(parseMessage);
}

function parseMessage(value: unknown): StoredMessage {
  const fields = asFields(value, "a message");
  const role = textField(fields, "role", 64);
  const content = textField(fields, "content", mostMessageBytes) ?? "";
  if (role === "system" || role === "user" || role === "assistant") return { role, content };
  throw new ShapeError('the "role" of a message is not system, user or assistant');
}
