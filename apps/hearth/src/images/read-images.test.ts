import { describe, expect, test } from "vitest";
import { splitDataUrl } from "./base64.ts";
import { type ImageSource, imageAt, readImages, sourceOf } from "./read-images.ts";
import { drawGif, drawJpeg, drawPng, pngChunk, pngSign } from "./test/draw-images.ts";

const { signal } = new AbortController();
const small = drawPng({ width: 8, height: 8 });

const read = async (sources: readonly ImageSource[]): Promise<string> => {
  try {
    await readImages(sources, { signal });
    return "";
  } catch (problem) {
    // What is thrown is a failure of the request; anything else fails the comparison.
    const { failure } = problem as { readonly failure: { readonly place: string; readonly reason: string } };
    return `${failure.place} ${failure.reason}`;
  }
};

const inline = (bytes: Buffer, declaredType = "", place = "images.0"): ImageSource => ({
  place,
  base64: bytes.toString("base64"),
  declaredType,
});

test("an image is found at its place, of the kind that its bytes say", async () => {
  const images = await readImages([inline(small), inline(drawGif({ width: 2, height: 2 }), "", "b")], {
    signal,
  });
  expect(imageAt(images, "images.0")).toEqual({ bytes: small, mediaType: "image/png" });
  expect(imageAt(images, "b").mediaType).toBe("image/gif");
  expect(() => imageAt(images, "c")).toThrow("Cannot find an image");
});

test("sixteen images are taken and seventeen are not, before any is looked at", async () => {
  const many = Array.from({ length: 17 }, (_, index) => inline(small, "", `images.${index}`));
  expect(await read(many.slice(1))).toBe("");
  expect(await read(many)).toBe("images.16 is one of 17 images; a request has at most 16");
});

/** A PNG with a chunk that nobody reads, to be of any length. */
function ofBytes(length: number): Buffer {
  const filler = pngChunk("prVt", Buffer.alloc(length - small.length - 12));
  const head = pngSign.length + 25;
  return Buffer.concat([small.subarray(0, head), filler, small.subarray(head)]);
}

describe("the size in bytes", () => {
  const most = 20 * 1024 * 1024;

  test("is at most 20 MiB for one", async () => {
    expect(ofBytes(most)).toHaveLength(most);
    expect(await read([inline(ofBytes(most))])).toBe("");
    expect(await read([inline(ofBytes(most + 1))])).toContain("more than 20 MiB");
    expect(await read([inline(ofBytes(most + 100))])).toContain("more than 20 MiB");
  });

  test("is at most 64 MiB for all", async () => {
    const four = Array.from({ length: 4 }, (_, index) => inline(ofBytes(most), "", `images.${index}`));
    expect(await read(four.slice(1))).toBe("");
    expect(await read(four)).toContain("images.3 is one image too many");
  });
});

test("the points of all together are at most 120 million", async () => {
  const large = drawJpeg({ width: 6000, height: 6000, components: 1 });
  const four = Array.from({ length: 4 }, (_, index) => inline(large, "", `images.${index}`));
  expect(await read(four.slice(1))).toBe("");
  expect(await read(four)).toContain("images.3 is one image too many");
});

describe("what an image is said to be", () => {
  test.each(["image/png", "image/x-png", ""])("%j goes with a PNG", async (declared) => {
    expect(await read([inline(small, declared)])).toBe("");
  });

  test.each(["image/jpeg", "text/html", "image/svg+xml"])("%j does not", async (declared) => {
    expect(await read([inline(small, declared)])).toContain(`is said to be "${declared}" and is image/png`);
  });

  test("image/jpg is another word for image/jpeg", async () => {
    expect(await read([inline(drawJpeg({ width: 9, height: 9 }), "image/jpg")])).toBe("");
  });
});

describe("base64", () => {
  test.each(["", "§", "not base64!", "===="])("%j is none", async (base64) => {
    expect(await read([{ place: "images.0", base64 }])).toBe("images.0 must be an image in base64");
  });

  test("may be broken into lines, and be of the kind for addresses", async () => {
    const lines = small.toString("base64").replaceAll(/.{20}/gu, "$&\r\n");
    expect(
      await read([
        { place: "a", base64: lines },
        { place: "b", base64: small.toString("base64url") },
      ]),
    ).toBe("");
  });
});

describe("a source", () => {
  test("is a data URL in any spelling", () => {
    const expected = { place: "x", base64: "AQID", declaredType: "image/png" };
    expect(sourceOf("data:image/png;base64,AQID", "x")).toEqual(expected);
    expect(sourceOf("DATA:image/PNG;name=a.png;BASE64,AQID", "x")).toEqual(expected);
    expect(splitDataUrl("data:;base64,AQID")).toEqual({ mediaType: "", base64: "AQID" });
    expect(splitDataUrl("data:image/png,AQID")).toBeUndefined();
    expect(splitDataUrl(`data:${"x".repeat(200)};base64,AQID`)).toBeUndefined();
  });

  test("is an address of the web, or bare base64 where that is allowed, and nothing else", () => {
    expect(sourceOf("https://images.example/a.png", "x")).toHaveProperty("address");
    expect(sourceOf("AQID", "x", { takesBare: true })).toEqual({ place: "x", base64: "AQID" });
    for (const text of ["", "AQID", "file:///a.png", "ftp://images.example/a.png"]) {
      expect(() => sourceOf(text, "x")).toThrow("request-invalid");
    }
  });
});

describe("an address", () => {
  const source: ImageSource = { place: "messages.0", address: "https://images.example/a.png" };

  test("is refused by a server that was not told whom to ask, with the setting's name", async () => {
    expect(await read([source])).toMatch(/^messages\.0 is an address.*--image-hosts/u);
  });

  test("is fetched otherwise, and what comes is looked at as if it had been sent", async () => {
    const giving = (bytes: Buffer) =>
      readImages([source], { signal, fetchImage: () => Promise.resolve(bytes) });
    expect(imageAt(await giving(small), "messages.0").mediaType).toBe("image/png");
    await expect(giving(Buffer.from("<html>"))).rejects.toMatchObject({
      failure: { kind: "request-invalid" },
    });
    const failing = readImages([source], {
      signal,
      fetchImage: () => Promise.resolve({ problem: "is gone" }),
    });
    await expect(failing).rejects.toMatchObject({ failure: { place: "messages.0", reason: "is gone" } });
  });
});
