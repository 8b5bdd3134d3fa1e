import type { Browser } from "playwright-core";

export type ImageComposer = AsyncDisposable & {
  /** Places images side by side, scaled to one height, as WebP. */
  compose(
    pngs: readonly Buffer[],
    size: { readonly height: number; readonly quality: number },
  ): Promise<Buffer>;
};

/** Uses a blank browser page to scale and encode images. */
export async function openImageComposer(browser: Browser): Promise<ImageComposer> {
  const context = await browser.newContext();
  const page = await context.newPage();
  return {
    compose: async (pngs, size) => {
      const base64 = await page.evaluate(
        async ({ texts, height, quality }) => {
          const images = await Promise.all(
            texts.map(async (text) =>
              createImageBitmap(await (await fetch(`data:image/png;base64,${text}`)).blob()),
            ),
          );
          const gap = images.length === 1 ? 0 : 8;
          const widths = images.map((image) => Math.round((image.width * height) / image.height));
          const totalWidth = widths.reduce((sum, width) => sum + width + gap, -gap);
          const canvas = new OffscreenCanvas(totalWidth, height);
          const context2d = canvas.getContext("2d");
          let left = 0;
          for (const [index, image] of images.entries()) {
            context2d?.drawImage(image, left, 0, widths[index] ?? 0, height);
            left += (widths[index] ?? 0) + gap;
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
