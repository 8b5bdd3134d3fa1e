import { expect, test } from "vitest";
import { readImageHeader } from "./image-header.ts";
import { imageAt, readImages } from "./read-images.ts";
import { smallestWebp } from "./test/draw-images.ts";

const { signal } = new AbortController();

test("a WebP reaches the engine as a PNG of the same size", async () => {
  const source = { field: "images.0", base64: smallestWebp.toString("base64"), declaredType: "image/webp" };
  const image = imageAt(await readImages([source], { signal }), "images.0");
  expect(image.mediaType).toBe("image/png");
  expect(readImageHeader(Buffer.from(image.bytes))).toMatchObject({
    mediaType: "image/png",
    width: 1,
    height: 1,
  });
});

test("a damaged WebP with a valid header is rejected by its path", async () => {
  const damaged = Buffer.from(smallestWebp).fill(0xff, 30);
  const source = { field: "images.0", base64: damaged.toString("base64") };
  await expect(readImages([source], { signal })).rejects.toMatchObject({
    failure: { kind: "request-invalid", field: "images.0", reason: "is a damaged WebP; save it again" },
  });
});
