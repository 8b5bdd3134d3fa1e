/** One field of a model file: its position, width and role. */
export type Field = {
  readonly role: FieldRole;
  readonly offset: number;
  readonly bytes: number;
  /** The key or tensor it belongs to. */
  readonly owner: string;
};

export type FieldRole =
  | "magic"
  | "version"
  | "tensor-count"
  | "key-count"
  | "key-length"
  | "key-text"
  | "value-type"
  | "number"
  | "text-length"
  | "text"
  | "element-type"
  | "element-count"
  | "element-length"
  | "element-text"
  | "element-number"
  | "name-length"
  | "name-text"
  | "dimension-count"
  | "dimension"
  | "tensor-type"
  | "tensor-offset";

/** Bytes of one value by type number; 0 for strings (8) and arrays (9), which have no fixed size. */
const scalarBytes = [1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8];
const stringType = 8;
const arrayType = 9;

/** Lists every field of a valid file's header in order. It trusts its input and shares no code with the validation. */
export function mapFields(bytes: Uint8Array): readonly Field[] {
  const walk = startWalk(bytes);
  walk.number("magic", 4);
  walk.number("version", 4);
  const tensors = walk.number("tensor-count", 8);
  const keys = walk.number("key-count", 8);
  for (let key = 0; key < keys; key += 1) mapKey(walk);
  for (let tensor = 0; tensor < tensors; tensor += 1) mapTensor(walk);
  return walk.fields;
}

type Walk = {
  readonly fields: Field[];
  number(role: FieldRole, width: number): number;
  text(lengthRole: FieldRole, role: FieldRole): string;
  setOwner(owner: string): void;
};

function startWalk(bytes: Uint8Array): Walk {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const fields: Field[] = [];
  let offset = 0;
  let owner = "";
  function record(role: FieldRole, width: number): number {
    const start = offset;
    fields.push({ role, offset: start, bytes: width, owner });
    offset += width;
    return start;
  }
  function number(role: FieldRole, width: number): number {
    const start = record(role, width);
    return width === 8 ? Number(view.readBigUInt64LE(start)) : view.readUIntLE(start, width);
  }
  return {
    fields,
    number,
    text(lengthRole, role) {
      const length = number(lengthRole, 8);
      const start = record(role, length);
      return view.toString("utf8", start, start + length);
    },
    setOwner(name) {
      owner = name;
    },
  };
}

function mapKey(walk: Walk): void {
  walk.setOwner("");
  walk.setOwner(walk.text("key-length", "key-text"));
  const type = walk.number("value-type", 4);
  if (type === arrayType) mapArray(walk);
  else if (type === stringType) walk.text("text-length", "text");
  else walk.number("number", scalarBytes[type] ?? 0);
}

function mapArray(walk: Walk): void {
  const type = walk.number("element-type", 4);
  const count = walk.number("element-count", 8);
  for (let element = 0; element < count; element += 1) {
    if (type === arrayType) mapArray(walk);
    else if (type === stringType) walk.text("element-length", "element-text");
    else walk.number("element-number", scalarBytes[type] ?? 0);
  }
}

function mapTensor(walk: Walk): void {
  walk.setOwner("");
  walk.setOwner(walk.text("name-length", "name-text"));
  const dimensions = walk.number("dimension-count", 4);
  for (let dimension = 0; dimension < dimensions; dimension += 1) walk.number("dimension", 8);
  walk.number("tensor-type", 4);
  walk.number("tensor-offset", 8);
}
