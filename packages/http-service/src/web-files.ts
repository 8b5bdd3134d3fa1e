import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { brotliCompress, constants } from "node:zlib";
import type { WholeAnswer } from "./answer.ts";
import type { CallHead } from "./route.ts";

/** One file of a browser app, held in memory. */
export type WebFile = {
  readonly type: string;
  readonly plain: Buffer;
  /** Packed when somebody first takes it so: that costs more than the whole start. */
  readonly brotli: () => Promise<Buffer>;
};

/** By their names; empty when the app was not built. */
export type WebFiles = ReadonlyMap<string, WebFile>;

const types: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};

/** Two steps below the most: a tenth larger, and the first person does not wait seconds for it. */
const params = { [constants.BROTLI_PARAM_QUALITY]: 9 };

/** Of the first of these folders that has a page. */
export async function readWebFiles(places: readonly URL[]): Promise<WebFiles> {
  const folder = places.map((place) => fileURLToPath(place)).find((path) => existsSync(`${path}index.html`));
  if (folder === undefined) return new Map();
  const names = (await readdir(folder)).filter((name) => types[endingOf(name)] !== undefined);
  const files = await Promise.all(
    names.map(async (name): Promise<[string, WebFile]> => {
      const plain = await readFile(`${folder}${name}`);
      let made: Promise<Buffer> | undefined;
      const brotli = (): Promise<Buffer> => {
        made ??= promisify(brotliCompress)(plain, { params });
        return made;
      };
      return [name, { type: types[endingOf(name)] ?? "", plain, brotli }];
    }),
  );
  return new Map(files);
}

function endingOf(name: string): string {
  return name.slice(name.lastIndexOf(".") + 1);
}

/** The page itself: it names its scripts by their hashes, so it is never kept. */
export async function answerWebPage(headers: CallHead["headers"], page: WebFile): Promise<WholeAnswer> {
  return packed(headers, page);
}

/** A script or a style, which has the hash of its content in its name and may be kept for ever. */
export async function answerWebPart(headers: CallHead["headers"], part: WebFile): Promise<WholeAnswer> {
  const answer = await packed(headers, part);
  return {
    ...answer,
    headers: { ...answer.headers, "cache-control": "public, max-age=31536000, immutable" },
  };
}

async function packed(headers: CallHead["headers"], { type, plain, brotli }: WebFile): Promise<WholeAnswer> {
  const isPacked = /\bbr\b/u.test(String(headers["accept-encoding"] ?? ""));
  return {
    status: 200,
    headers: {
      "content-type": type,
      vary: "accept-encoding",
      ...(isPacked ? { "content-encoding": "br" } : {}),
    },
    body: isPacked ? await brotli() : plain,
  };
}
