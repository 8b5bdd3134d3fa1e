import { requestFailure } from "../../../failures.ts";

/** A turn as it is remembered between two calls of generate. */
export type RememberedTurn = { readonly role: "system" | "user" | "assistant"; readonly content: string };

const bytesPerNumber = 3;
/** The schema's own limit on what comes back. */
const mostNumbers = 8_388_608;

/**
 * `context` is a list of numbers that a client gives back unseen. Ours are not the ids of tokens but the turns
 * themselves, three bytes to a number after their length: they mean the same after a reload, with another template,
 * and for a model of another vocabulary. Undefined when it would be too long to come back.
 */
export function writeContext(turns: readonly RememberedTurn[]): readonly number[] | undefined {
  const bytes = Buffer.from(JSON.stringify(turns.map(({ role, content }) => [role, content])));
  const count = Math.ceil(bytes.length / bytesPerNumber);
  if (count >= mostNumbers || bytes.length >= 2 ** 24) return undefined;
  const padded = Buffer.alloc(count * bytesPerNumber);
  bytes.copy(padded);
  const numbers = Array.from({ length: count }, (_, index) =>
    padded.readUIntBE(index * bytesPerNumber, bytesPerNumber),
  );
  return [bytes.length, ...numbers];
}

export function readContext(numbers: readonly number[] | null | undefined): readonly RememberedTurn[] {
  if (numbers === undefined || numbers === null || numbers.length === 0) return [];
  const [length = 0, ...rest] = numbers;
  const bytes = Buffer.alloc(rest.length * bytesPerNumber);
  for (const [index, number] of rest.entries()) {
    bytes.writeUIntBE(number, index * bytesPerNumber, bytesPerNumber);
  }
  const turns = rest.length === Math.ceil(length / bytesPerNumber) ? parseTurns(bytes, length) : undefined;
  if (turns !== undefined) return turns;
  throw requestFailure({
    kind: "request-invalid",
    place: "context",
    reason: "is not from an answer of this server",
  });
}

function parseTurns(bytes: Buffer, length: number): readonly RememberedTurn[] | undefined {
  try {
    const turns: unknown = JSON.parse(bytes.toString("utf8", 0, length));
    return Array.isArray(turns) ? turns.map(readTurn) : undefined;
  } catch {
    return undefined;
  }
}

function readTurn(turn: unknown): RememberedTurn {
  const [role, content]: readonly unknown[] = Array.isArray(turn) ? turn : [];
  const isRole = role === "system" || role === "user" || role === "assistant";
  if (isRole && typeof content === "string") return { role, content };
  throw new TypeError("not a turn");
}
