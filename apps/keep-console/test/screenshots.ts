import type { Browser } from "playwright-core";

export type Darkroom = AsyncDisposable & {
  /** Several pictures side by side, scaled to a height, as WebP. */
  compose(
    pngs: readonly Buffer[],
    size: { readonly height: number; readonly quality: number },
  ): Promise<Buffer>;
};

/** Pictures are made smaller by the browser itself, on a page of nobody. */
export async function openDarkroom(browser: Browser): Promise<Darkroom> {
  const context = await browser.newContext();
  const page = await context.newPage();
  return {
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
