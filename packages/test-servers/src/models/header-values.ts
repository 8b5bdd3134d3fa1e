/** Where a text ends that has its length before it, as all texts in the header of a model file. */
export function endOfHeaderText(file: Buffer, text: string): number {
  const bytes = Buffer.alloc(8 + text.length);
  bytes.writeBigUInt64LE(BigInt(text.length), 0);
  bytes.write(text, 8, "latin1");
  const start = file.indexOf(bytes);
  if (start === -1) throw new Error(`Cannot find "${text}" in the model file`);
  return start + bytes.length;
}

/** The type of a value in a model file: a little-endian integer of 32 bits. */
const integerType = 4;

/** Where the integer with this key is; its type comes before it. */
function positionOf(file: Buffer, key: string): number {
  const type = endOfHeaderText(file, key);
  if (file.readUInt32LE(type) !== integerType)
    throw new Error(`"${key}" is not an integer in the model file`);
  return type + 4;
}

export function readHeaderInteger(file: Buffer, key: string): number {
  return file.readUInt32LE(positionOf(file, key));
}

/** Replaces a value in the header of a model file, for tests that need a model of another kind. */
export function replaceHeaderInteger(file: Buffer, key: string, value: number): void {
  file.writeUInt32LE(value, positionOf(file, key));
}
