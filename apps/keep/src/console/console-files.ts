import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { brotliCompress, constants } from "node:zlib";

export type ConsoleFile = {
  readonly type: string;
  readonly plain: Buffer;
  /** Packed when somebody first takes it so: that costs more than the whole start. */
  readonly brotli: () => Promise<Buffer>;
};

/** By their names; empty when the console was not built. */
export type ConsoleFiles = ReadonlyMap<string, ConsoleFile>;

export type ConsoleParts = {
  readonly files: ConsoleFiles;
  /** The Content-Security-Policy of its page, which names where providers are once that is known. */
  readonly policy: () => string;
};

const types: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};

/** Two steps below the most: a tenth larger, and the first person does not wait seconds for it. */
const params = { [constants.BROTLI_PARAM_QUALITY]: 9 };

/** Beside the program in a tarball, beside its sources otherwise. */
const folders = ["./console/", "../../../keep-console/dist/"].map((place) =>
  fileURLToPath(new URL(place, import.meta.url)),
);

export async function readConsoleFiles(): Promise<ConsoleFiles> {
  const folder = folders.find((place) => existsSync(`${place}index.html`));
  if (folder === undefined) return new Map();
  const names = (await readdir(folder)).filter((name) => types[endingOf(name)] !== undefined);
  const files = await Promise.all(
    names.map(async (name): Promise<[string, ConsoleFile]> => {
      const plain = await readFile(`${folder}${name}`);
      let packed: Promise<Buffer> | undefined;
      const brotli = (): Promise<Buffer> => {
        packed ??= promisify(brotliCompress)(plain, { params });
        return packed;
      };
      return [name, { type: types[endingOf(name)] ?? "", plain, brotli }];
    }),
  );
  return new Map(files);
}

function endingOf(name: string): string {
  return name.slice(name.lastIndexOf(".") + 1);
}

/** What the console's page may do: its own scripts, styles and answers, and forms that lead to the providers. */
export function policyOfPage(providerOrigins: readonly string[]): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    `form-action ${["'self'", ...providerOrigins].join(" ")}`,
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; ");
}
