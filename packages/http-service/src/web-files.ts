import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { brotliCompress, constants } from "node:zlib";
import type { BufferedResponse } from "./response.ts";
import type { RequestHead } from "./route.ts";

/** One file of a web app, held in memory. */
export type WebFile = {
  readonly type: string;
  readonly plain: Buffer;
  /** Compressed on first use, because that takes longer than the rest of the start. */
  readonly brotli: () => Promise<Buffer>;
};

/** By file name; empty when the app was not built. */
export type WebFiles = ReadonlyMap<string, WebFile>;

const contentTypes: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};

/** Quality 9 of 11: a tenth larger, but the first visitor does not wait seconds for it. */
const params = { [constants.BROTLI_PARAM_QUALITY]: 9 };

/** Reads the first of these folders that has an index.html. */
export async function readWebFiles(folders: readonly URL[]): Promise<WebFiles> {
  const folder = folders.map((url) => fileURLToPath(url)).find((path) => existsSync(`${path}index.html`));
  if (folder === undefined) return new Map();
  const names = (await readdir(folder)).filter((name) => contentTypes[extensionOf(name)] !== undefined);
  const files = await Promise.all(
    names.map(async (name): Promise<[string, WebFile]> => {
      const plain = await readFile(`${folder}${name}`);
      let compressed: Promise<Buffer> | undefined;
      const brotli = (): Promise<Buffer> => {
        compressed ??= promisify(brotliCompress)(plain, { params });
        return compressed;
      };
      return [name, { type: contentTypes[extensionOf(name)] ?? "", plain, brotli }];
    }),
  );
  return new Map(files);
}

function extensionOf(name: string): string {
  return name.slice(name.lastIndexOf(".") + 1);
}

/** The HTML page, which is never cached because it names its scripts by their content hashes. */
export async function webPageResponse(
  headers: RequestHead["headers"],
  page: WebFile,
): Promise<BufferedResponse> {
  return compressedResponse(headers, page);
}

/** A script or style sheet, cached for a year: its name contains the hash of its content. */
export async function webAssetResponse(
  headers: RequestHead["headers"],
  asset: WebFile,
): Promise<BufferedResponse> {
  const response = await compressedResponse(headers, asset);
  return {
    ...response,
    headers: { ...response.headers, "cache-control": "public, max-age=31536000, immutable" },
  };
}

async function compressedResponse(
  headers: RequestHead["headers"],
  { type, plain, brotli }: WebFile,
): Promise<BufferedResponse> {
  const acceptsBrotli = /\bbr\b/u.test(String(headers["accept-encoding"] ?? ""));
  return {
    status: 200,
    headers: {
      "content-type": type,
      vary: "accept-encoding",
      ...(acceptsBrotli ? { "content-encoding": "br" } : {}),
    },
    body: acceptsBrotli ? await brotli() : plain,
  };
}
