import type { Field, FieldRole } from "./map-fields.ts";
import type { SeededRandom } from "./seeded-random.ts";

export type MutantFamily = (typeof rolesByFamily)[number]["family"];

/** The field to change, and all fields of the same family in the same file. */
type MutationTarget = { readonly field: Field; readonly fields: readonly Field[] };

const hasRole =
  (...roles: readonly FieldRole[]) =>
  ({ role }: Field): boolean =>
    roles.includes(role);
const dimensionKey =
  /\.(?:block_count|context_length|embedding_length|feed_forward_length|vocab_size|patch_size)$/u;

/** The fields that each family of mutants changes. The first three families control memory allocation. */
export const rolesByFamily = [
  {
    family: "size",
    accepts: hasRole("key-length", "text-length", "element-length", "name-length", "dimension"),
  },
  { family: "count", accepts: hasRole("tensor-count", "key-count", "element-count", "dimension-count") },
  { family: "offset", accepts: hasRole("tensor-offset") },
  { family: "type", accepts: hasRole("magic", "version", "value-type", "element-type", "tensor-type") },
  { family: "alignment", accepts: ({ role, owner }) => role === "number" && owner === "general.alignment" },
  {
    family: "token-string",
    accepts: ({ role, bytes, owner }) =>
      role === "element-text" && bytes > 0 && owner.startsWith("tokenizer."),
  },
  {
    family: "token-type",
    accepts: ({ role, owner }) => role === "element-number" && owner.startsWith("tokenizer."),
  },
  {
    family: "model-number",
    accepts: ({ role, owner }) =>
      role === "number" &&
      (dimensionKey.test(owner) || /head_count|_token_id|image_size|projection/u.test(owner)),
  },
  { family: "name", accepts: (field) => field.bytes > 0 && hasRole("key-text", "name-text")(field) },
] as const satisfies readonly { readonly family: string; accepts(field: Field): boolean }[];

/** Changes one field in place to a different value and describes the change. */
export function changeField(bytes: Uint8Array, target: MutationTarget, random: SeededRandom): string {
  return isText(target.field) ? changeText(bytes, target, random) : changeNumber(bytes, target, random);
}

function isText({ role }: Field): boolean {
  return role.endsWith("-text") || role === "magic";
}

function changeText(bytes: Uint8Array, { field, fields }: MutationTarget, random: SeededRandom): string {
  const { offset, bytes: length } = field;
  const other = random.pick(fields);
  if (other.bytes === length && other.offset !== offset) {
    bytes.copyWithin(offset, other.offset, other.offset + length);
    return `becomes the text at ${other.offset}`;
  }
  const at = offset + random.below(length);
  const byte = random.pick([0x00, 0x0a, 0x7f, 0x80, 0xc0, 0xff]);
  bytes[at] = bytes[at] === byte ? byte ^ 1 : byte;
  return `has byte ${bytes[at]} at ${at}`;
}

function changeNumber(bytes: Uint8Array, { field, fields }: MutationTarget, random: SeededRandom): string {
  const old = readNumber(bytes, field);
  const limit = 2n ** BigInt(8 * field.bytes);
  const candidates = [
    ...nearby(old),
    ...extremes(bytes.length, limit),
    BigInt(random.below(2 ** 32)),
    readNumber(bytes, random.pick(fields)),
  ].map((value) => ((value % limit) + limit) % limit);
  const chosen = random.pick(candidates.filter((value) => value !== old));
  writeNumber(bytes, field, chosen);
  return `${old} becomes ${chosen}`;
}

function nearby(value: bigint): readonly bigint[] {
  return [
    value + 1n,
    value - 1n,
    value + 8n,
    value * 2n,
    value / 2n,
    value + 2n ** 32n,
    value ^ (1n << 31n),
    -value,
  ];
}

function extremes(fileBytes: number, limit: bigint): readonly bigint[] {
  const size = BigInt(fileBytes);
  return [0n, 1n, size, size - 1n, size * 8n, limit - 1n, limit / 2n, limit / 2n - 1n, limit / 8n, 2n ** 31n];
}

function readNumber(bytes: Uint8Array, { offset, bytes: width }: Field): bigint {
  let value = 0n;
  for (let index = width - 1; index >= 0; index -= 1)
    value = value * 256n + BigInt(bytes[offset + index] ?? 0);
  return value;
}

function writeNumber(bytes: Uint8Array, { offset, bytes: width }: Field, value: bigint): void {
  for (let index = 0; index < width; index += 1)
    bytes[offset + index] = Number((value >> BigInt(8 * index)) & 255n);
}
