import { describe, expect, test } from "vitest";
import { splitDataUrl } from "./base64.ts";
import { type ImageSource, imageAt, parseImageSource, readImages } from "./read-images.ts";
import { drawGif, drawJpeg, drawPng, pngChunk, pngSignature } from "./test/draw-images.ts";

const { signal } = new AbortController();
const small = drawPng({ width: 8, height: 8 });

const read = async (sources: readonly ImageSource[]): Promise<string> => {
  try {
    await readImages(sources, { signal });
    return "";
  } catch (error) {
    // Any other error fails the comparison.
    const { failure } = error as { readonly failure: { readonly field: string; readonly reason: string } };
    return `${failure.field} ${failure.reason}`;
  }
};

const inline = (bytes: Buffer, declaredType = "", field = "images.0"): ImageSource => ({
  field,
  base64: bytes.toString("base64"),
  declaredType,
});

test("an image is found by its field, with the media type of its bytes", async () => {
  const images = await readImages([inline(small), inline(drawGif({ width: 2, height: 2 }), "", "b")], {
    signal,
  });
  expect(imageAt(images, "images.0")).toEqual({ bytes: small, mediaType: "image/png" });
  expect(imageAt(images, "b").mediaType).toBe("image/gif");
  expect(() => imageAt(images, "c")).toThrow("did not read this image");
});

test("sixteen images are accepted and seventeen are rejected, before any is read", async () => {
  const many = Array.from({ length: 17 }, (_, index) => inline(small, "", `images.${index}`));
  expect(await read(many.slice(1))).toBe("");
  expect(await read(many)).toBe("images.16 is one of 17 images; at most 16 are allowed per request");
});

/** A PNG of any length, padded with a private chunk. */
function pngOfBytes(length: number): Buffer {
  const filler = pngChunk("prVt", Buffer.alloc(length - small.length - 12));
  const headerEnd = pngSignature.length + 25;
  return Buffer.concat([small.subarray(0, headerEnd), filler, small.subarray(headerEnd)]);
}

describe("the size in bytes", () => {
  const maxBytes = 20 * 1024 * 1024;

  test("is at most 20 MiB for one", async () => {
    expect(pngOfBytes(maxBytes)).toHaveLength(maxBytes);
    expect(await read([inline(pngOfBytes(maxBytes))])).toBe("");
    expect(await read([inline(pngOfBytes(maxBytes + 1))])).toContain("exceeds 20 MiB");
    expect(await read([inline(pngOfBytes(maxBytes + 100))])).toContain("exceeds 20 MiB");
  });

  test("is at most 64 MiB for all", async () => {
    const four = Array.from({ length: 4 }, (_, index) => inline(pngOfBytes(maxBytes), "", `images.${index}`));
    expect(await read(four.slice(1))).toBe("");
    expect(await read(four)).toContain("images.3 exceeds the limit for all images");
  });
});

test("all images together have at most 120 million pixels", async () => {
  const large = drawJpeg({ width: 6000, height: 6000, components: 1 });
  const four = Array.from({ length: 4 }, (_, index) => inline(large, "", `images.${index}`));
  expect(await read(four.slice(1))).toBe("");
  expect(await read(four)).toContain("images.3 exceeds the limit for all images");
});

test("optional images that are damaged or exceed a limit are left out, the first ones first", async () => {
  const large = drawJpeg({ width: 6000, height: 6000, components: 1 });
  const optional = [
    inline(large, "", "old.0"),
    inline(Buffer.from("no image"), "", "old.1"),
    ...[2, 3, 4].map((index) => inline(large, "", `old.${index}`)),
    { field: "old.5", url: "https://example.com/gone.png" },
    inline(small, "", "old.6"),
  ];
  const images = await readImages([inline(small, "", "new")], { signal, optional });
  expect([...images.keys()]).toEqual(["new", "old.6", "old.4", "old.3", "old.2"]);
  const many = Array.from({ length: 5000 }, (_, index) => ({
    field: `${index}`,
    url: "https://example.com/",
  }));
  const fetched: string[] = [];
  await readImages([], {
    signal,
    optional: many,
    fetchImage: async (url) => {
      fetched.push(url);
      return { reason: "is gone" };
    },
  });
  expect(fetched).toHaveLength(32);
});

describe("the declared media type", () => {
  test.each(["image/png", "image/x-png", ""])("%j matches a PNG", async (declared) => {
    expect(await read([inline(small, declared)])).toBe("");
  });

  test.each(["image/jpeg", "text/html", "image/svg+xml"])("%j does not match a PNG", async (declared) => {
    expect(await read([inline(small, declared)])).toContain(`is declared as "${declared}" but is image/png`);
  });

  test("image/jpg is an alias for image/jpeg", async () => {
    expect(await read([inline(drawJpeg({ width: 9, height: 9 }), "image/jpg")])).toBe("");
  });
});

describe("base64", () => {
  test.each(["", "§", "not base64!", "===="])("%j is rejected", async (base64) => {
    expect(await read([{ field: "images.0", base64 }])).toBe("images.0 must be a base64-encoded image");
  });

  test("may contain line breaks and use the URL-safe alphabet", async () => {
    const lines = small.toString("base64").replaceAll(/.{20}/gu, "$&\r\n");
    expect(
      await read([
        { field: "a", base64: lines },
        { field: "b", base64: small.toString("base64url") },
      ]),
    ).toBe("");
  });
});

describe("a source", () => {
  test("is a data URL in upper or lower case", () => {
    const expected = { field: "x", base64: "AQID", declaredType: "image/png" };
    expect(parseImageSource("data:image/png;base64,AQID", "x")).toEqual(expected);
    expect(parseImageSource("DATA:image/PNG;name=a.png;BASE64,AQID", "x")).toEqual(expected);
    expect(splitDataUrl("data:;base64,AQID")).toEqual({ mediaType: "", base64: "AQID" });
    expect(splitDataUrl("data:image/png,AQID")).toBeUndefined();
    expect(splitDataUrl(`data:${"x".repeat(200)};base64,AQID`)).toBeUndefined();
  });

  test("is an https URL, or bare base64 if allowed, and nothing else", () => {
    expect(parseImageSource("https://images.example/a.png", "x")).toHaveProperty("url");
    expect(parseImageSource("AQID", "x", { allowsBareBase64: true })).toEqual({ field: "x", base64: "AQID" });
    for (const text of ["", "AQID", "file:///a.png", "ftp://images.example/a.png"]) {
      expect(() => parseImageSource(text, "x")).toThrow("request-invalid");
    }
  });
});

describe("an image URL", () => {
  const source: ImageSource = { field: "messages.0", url: "https://images.example/a.png" };

  test("is rejected without --image-hosts, and the error names the flag", async () => {
    expect(await read([source])).toMatch(/^messages\.0 is a URL.*--image-hosts/u);
  });

  test("is fetched otherwise, and the response is checked like an inline image", async () => {
    const readFetched = (bytes: Buffer) =>
      readImages([source], { signal, fetchImage: () => Promise.resolve(bytes) });
    expect(imageAt(await readFetched(small), "messages.0").mediaType).toBe("image/png");
    await expect(readFetched(Buffer.from("<html>"))).rejects.toMatchObject({
      failure: { kind: "request-invalid" },
    });
    const failing = readImages([source], {
      signal,
      fetchImage: () => Promise.resolve({ reason: "is gone" }),
    });
    await expect(failing).rejects.toMatchObject({ failure: { field: "messages.0", reason: "is gone" } });
  });
});
