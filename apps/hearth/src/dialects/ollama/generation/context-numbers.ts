import { invalidField } from "../../../failures.ts";

/** A turn that `context` carries from one generate request to the next. */
export type ContextTurn = { readonly role: "system" | "user" | "assistant"; readonly content: string };

const bytesPerNumber = 3;
/** The limit of the request schema. */
const maxNumbers = 8_388_608;

/**
 * `context` is a list of numbers that clients send back unchanged. Instead of token ids it encodes the text of the turns,
 * as a length followed by three bytes per number, so that it stays valid after a reload, with another template, and for
 * a model with another vocabulary. Undefined if it would exceed the limit of a request.
 */
export function writeContext(turns: readonly ContextTurn[]): readonly number[] | undefined {
  const bytes = Buffer.from(JSON.stringify(turns.map(({ role, content }) => [role, content])));
  const count = Math.ceil(bytes.length / bytesPerNumber);
  if (count >= maxNumbers || bytes.length >= 2 ** 24) return undefined;
  const padded = Buffer.alloc(count * bytesPerNumber);
  bytes.copy(padded);
  const numbers = Array.from({ length: count }, (_, index) =>
    padded.readUIntBE(index * bytesPerNumber, bytesPerNumber),
  );
  return [bytes.length, ...numbers];
}

export function readContext(numbers: readonly number[] | null | undefined): readonly ContextTurn[] {
  if (numbers === undefined || numbers === null || numbers.length === 0) return [];
  const [length = 0, ...rest] = numbers;
  const bytes = Buffer.alloc(rest.length * bytesPerNumber);
  for (const [index, number] of rest.entries()) {
    bytes.writeUIntBE(number, index * bytesPerNumber, bytesPerNumber);
  }
  const turns = rest.length === Math.ceil(length / bytesPerNumber) ? parseTurns(bytes, length) : undefined;
  if (turns !== undefined) return turns;
  throw invalidField("context", "is not from a response of this server");
}

function parseTurns(bytes: Buffer, length: number): readonly ContextTurn[] | undefined {
  try {
    const turns: unknown = JSON.parse(bytes.toString("utf8", 0, length));
    return Array.isArray(turns) ? turns.map(readTurn) : undefined;
  } catch {
    return undefined;
  }
}

function readTurn(turn: unknown): ContextTurn {
  const [role, content]: readonly unknown[] = Array.isArray(turn) ? turn : [];
  const isRole = role === "system" || role === "user" || role === "assistant";
  if (isRole && typeof content === "string") return { role, content };
  throw new TypeError("not a turn");
}
