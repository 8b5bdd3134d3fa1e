import { PassThrough } from "node:stream";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { FrameReader, writeFrame } from "./frames.ts";

test("frames are read back whole, however the stream is cut", () => {
  const contents = fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 20 });
  fc.assert(
    fc.property(contents, fc.integer({ min: 1, max: 64 }), (written, cut) => {
      const stream = new PassThrough();
      for (const content of written) writeFrame(stream, Buffer.from(content));
      const bytes = stream.read() ?? Buffer.alloc(0);
      const reader = new FrameReader();
      const read: Buffer[] = [];
      for (let start = 0; start < bytes.length; start += cut)
        read.push(...reader.push(bytes.subarray(start, start + cut)));
      expect(read.map((frame) => [...frame])).toEqual(written.map((content) => [...content]));
    }),
    { seed: 7 },
  );
});

test("a length above the limit is rejected before its content arrives", () => {
  const prefix = Buffer.alloc(4);
  prefix.writeUInt32LE(800_000_000);
  expect(() => new FrameReader().push(prefix)).toThrow("frame too long");
  prefix.writeUInt32LE(64 * 1024 * 1024);
  expect(new FrameReader().push(prefix)).toEqual([]);
});
