import { ModelFileError, quote } from "../model-file-error.ts";
import type { ByteCursor } from "./byte-cursor.ts";
import type { Tensor } from "./read-tensors.ts";

/** Where the tensors' bytes start, and the boundary on which each of them starts. */
export type Layout = { readonly dataStart: number; readonly alignment: number };

/**
 * Tensors lie one after another in the order of the table, each on the next boundary: llama.cpp demands the same.
 * So none overlaps another, and the file ends with the last one. Bytes that belong to nothing are refused as
 * well: they are what a lowered count leaves behind.
 */
export function checkLayout(cursor: ByteCursor, tensors: readonly Tensor[], alignment: number): Layout {
  const headerEnd = cursor.position;
  const dataStart = alignUp(headerEnd, alignment);
  if (tensors.length > 0) checkTensors(tensors, { dataStart, alignment }, cursor.fileBytes);
  const last = tensors.at(-1);
  const end = last === undefined ? headerEnd : dataStart + last.offset + last.bytes;
  const surplus = cursor.fileBytes - alignUp(end, alignment);
  if (surplus > 0) {
    const sentence = `The file has ${surplus} bytes after its last tensor that belong to nothing`;
    throw new ModelFileError({ kind: "trailing-bytes", place: { offset: end }, sentence });
  }
  checkPadding(cursor, Math.min(dataStart, cursor.fileBytes));
  return { dataStart, alignment };
}

function checkTensors(tensors: readonly Tensor[], { dataStart, alignment }: Layout, fileBytes: number): void {
  let expected = 0;
  for (const { name, offset, bytes } of tensors) {
    const place = { tensor: name, offset: dataStart + offset };
    if (offset !== expected) {
      const sentence = `The tensor ${quote(name)} is at ${offset} of the data, and ${expected} is expected`;
      throw new ModelFileError({ kind: "tensor-misplaced", place, sentence });
    }
    if (dataStart + offset + bytes > fileBytes) {
      const sentence = `The tensor ${quote(name)} ends at byte ${dataStart + offset + bytes}, after the file's ${fileBytes}`;
      throw new ModelFileError({ kind: "tensor-outside", place, sentence });
    }
    expected = alignUp(offset + bytes, alignment);
  }
}

/** The bytes between header and data are zero; anything else is a part of a header that counts too little. */
function checkPadding(cursor: ByteCursor, end: number): void {
  cursor.enter({});
  const start = cursor.skip(end - cursor.position);
  if (cursor.bytes.subarray(start, end).some((byte) => byte !== 0)) {
    throw cursor.refuse("padding-invalid", "The bytes between the header and the tensors are not zero");
  }
}

function alignUp(position: number, alignment: number): number {
  return Math.ceil(position / alignment) * alignment;
}
