import { expect, test } from "vitest";
import { readArchiveLine, writeArchiveLine } from "./archive-line.ts";

const hash = Buffer.alloc(32, 1).toString("base64");

test("a line of an archive is read as it was written, and in no other form", () => {
  for (const line of [
    { type: "leaf", hash },
    { type: "log", origin: "keep/audit/1", first: 7, size: 9, edge: [hash] },
    { type: "end", records: 2 },
  ] as const) {
    const text = writeArchiveLine(line).trimEnd();
    expect(readArchiveLine(text)).toEqual(line);
    // The last character before the padding has bits that no byte uses.
    const surplus = text.replace("QE=", "QF=");
    for (const other of [` ${text}`, text.replace("}", ',"x":1}'), ...(surplus === text ? [] : [surplus])])
      expect([other, readArchiveLine(other)]).toEqual([other, undefined]);
  }
});
