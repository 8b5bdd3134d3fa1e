import type { Browser } from "playwright-core";

export type Region = {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
};

export type Darkroom = AsyncDisposable & {
  /** How much of a region of a picture is not its most frequent colour, from 0 to 1. */
  measureInk(png: Buffer, region: Region): Promise<number>;
  /** Several pictures side by side, scaled to a height, as WebP. */
  compose(
    pngs: readonly Buffer[],
    size: { readonly height: number; readonly quality: number },
  ): Promise<Buffer>;
};

/** Pictures are looked at and made smaller by the browser itself, on a page of nobody. */
export async function openDarkroom(browser: Browser): Promise<Darkroom> {
  const context = await browser.newContext();
  const page = await context.newPage();
  return {
    measureInk: (png, region) =>
      page.evaluate(
        async ({ text, area }) => {
          const answer = await fetch(`data:image/png;base64,${text}`);
          const picture = await createImageBitmap(
            await answer.blob(),
            area.x,
            area.y,
            Math.max(1, area.width),
            Math.max(1, area.height),
          );
          const canvas = new OffscreenCanvas(picture.width, picture.height);
          const pen = canvas.getContext("2d");
          pen?.drawImage(picture, 0, 0);
          const bytes = pen?.getImageData(0, 0, picture.width, picture.height).data.buffer;
          const pixels = new Uint32Array(bytes ?? new ArrayBuffer(4));
          const counts = new Map<number, number>();
          for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) ?? 0) + 1);
          return 1 - Math.max(...counts.values()) / pixels.length;
        },
        { text: png.toString("base64"), area: region },
      ),
    compose: async (pngs, size) => {
      const base64 = await page.evaluate(
        async ({ texts, height, quality }) => {
          const pictures = await Promise.all(
            texts.map(async (text) =>
              createImageBitmap(await (await fetch(`data:image/png;base64,${text}`)).blob()),
            ),
          );
          const gap = pictures.length === 1 ? 0 : 8;
          const widths = pictures.map((picture) => Math.round((picture.width * height) / picture.height));
          const whole = widths.reduce((sum, width) => sum + width + gap, -gap);
          const canvas = new OffscreenCanvas(whole, height);
          const pen = canvas.getContext("2d");
          let left = 0;
          for (const [place, picture] of pictures.entries()) {
            pen?.drawImage(picture, left, 0, widths[place] ?? 0, height);
            left += (widths[place] ?? 0) + gap;
          }
          const blob = await canvas.convertToBlob({ type: "image/webp", quality });
          const bytes = new Uint8Array(await blob.arrayBuffer());
          return bytes.toBase64();
        },
        { texts: pngs.map((png) => png.toString("base64")), ...size },
      );
      return Buffer.from(base64, "base64");
    },
    [Symbol.asyncDispose]: () => context.close(),
  };
}
