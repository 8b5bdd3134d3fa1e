import { ModelFileError, quote } from "../model-file-error.ts";
import type { ByteCursor } from "./byte-cursor.ts";
import type { Tensor } from "./read-tensors.ts";

/** Where the tensor data starts, and the alignment of each tensor. */
export type Layout = { readonly dataStart: number; readonly alignment: number };

/**
 * Tensors must follow each other in table order, each at the next aligned offset, as llama.cpp requires. So no two
 * overlap, and the file ends with the last one. Trailing bytes are rejected as well, because a count that was lowered
 * leaves such bytes behind.
 */
export function checkLayout(cursor: ByteCursor, tensors: readonly Tensor[], alignment: number): Layout {
  const headerEnd = cursor.position;
  const dataStart = alignUp(headerEnd, alignment);
  if (tensors.length > 0) checkTensors(tensors, { dataStart, alignment }, cursor.fileBytes);
  const last = tensors.at(-1);
  const end = last === undefined ? headerEnd : dataStart + last.offset + last.bytes;
  const surplus = cursor.fileBytes - alignUp(end, alignment);
  if (surplus > 0) {
    const message = `The file has ${surplus} extra bytes after its last tensor`;
    throw new ModelFileError({ kind: "trailing-bytes", location: { offset: end }, message });
  }
  checkPadding(cursor, Math.min(dataStart, cursor.fileBytes));
  return { dataStart, alignment };
}

function checkTensors(tensors: readonly Tensor[], { dataStart, alignment }: Layout, fileBytes: number): void {
  let expected = 0;
  for (const { name, offset, bytes } of tensors) {
    const location = { tensor: name, offset: dataStart + offset };
    if (offset !== expected) {
      const message = `The tensor ${quote(name)} starts at offset ${offset}, expected ${expected}`;
      throw new ModelFileError({ kind: "tensor-misplaced", location, message });
    }
    if (dataStart + offset + bytes > fileBytes) {
      const message = `The tensor ${quote(name)} ends at byte ${dataStart + offset + bytes}, beyond the end of the file at ${fileBytes}`;
      throw new ModelFileError({ kind: "tensor-outside", location, message });
    }
    expected = alignUp(offset + bytes, alignment);
  }
}

/** The bytes between header and data must be zero; otherwise they may belong to a header whose counts are too low. */
function checkPadding(cursor: ByteCursor, end: number): void {
  cursor.setLocation({});
  const start = cursor.skip(end - cursor.position);
  if (cursor.bytes.subarray(start, end).some((byte) => byte !== 0)) {
    throw cursor.createError("padding-invalid", "The bytes between the header and the tensors are not zero");
  }
}

function alignUp(position: number, alignment: number): number {
  return Math.ceil(position / alignment) * alignment;
}
