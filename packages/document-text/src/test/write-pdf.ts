/**
 * @module
 * Writes PDFs object by object, so that tests know every word of them and can break any part.
 * Imported by the tests of this package.
 */
import { deflateSync } from "node:zlib";

/** The value of an object, or a stream with the entries of its dictionary. */
export type PdfObject = string | PdfStream;

type PdfStream = {
  readonly dictionary?: string;
  readonly content: Buffer | string;
  readonly isCompressed?: boolean;
  /** Replaces the true length. */
  readonly length?: number;
};

export type FileOptions = {
  /** Entries of the trailer besides its size and root. */
  readonly trailer?: string;
  /** Replaces the list of offsets and the trailer. */
  readonly end?: (offsets: readonly number[], start: number) => string;
};

/** Object 1 is the catalog. */
export function writeObjects(objects: readonly PdfObject[], options: FileOptions = {}): Buffer {
  const chunks: Buffer[] = [Buffer.from("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "latin1")];
  let at = chunks[0]?.length ?? 0;
  const offsets = objects.map((object, index) => {
    const offset = at;
    const bytes = encodeObject(index + 1, object);
    chunks.push(bytes);
    at += bytes.length;
    return offset;
  });
  const { trailer = "", end = (list, start) => writeEnd(list, { start, trailer }) } = options;
  return Buffer.concat([...chunks, Buffer.from(end(offsets, at), "latin1")]);
}

function writeEnd(
  offsets: readonly number[],
  { start, trailer }: { readonly start: number; readonly trailer: string },
): string {
  const rows = offsets.map((offset) => `${String(offset).padStart(10, "0")} 00000 n \n`);
  const size = offsets.length + 1;
  return `xref\n0 ${size}\n0000000000 65535 f \n${rows.join("")}trailer\n<< /Size ${size} /Root 1 0 R ${trailer} >>\nstartxref\n${start}\n%%EOF\n`;
}

function encodeObject(number: number, object: PdfObject): Buffer {
  const value = typeof object === "string" ? Buffer.from(object, "latin1") : encodeStream(object);
  return Buffer.concat([Buffer.from(`${number} 0 obj\n`), value, Buffer.from("\nendobj\n")]);
}

function encodeStream({ dictionary = "", content, isCompressed = false, length }: PdfStream): Buffer {
  const plain = typeof content === "string" ? Buffer.from(content, "latin1") : content;
  const bytes = isCompressed ? deflateSync(plain) : plain;
  const filter = isCompressed ? "/Filter /FlateDecode" : "";
  const head = `<< /Length ${length ?? bytes.length} ${filter} ${dictionary} >>\nstream\n`;
  return Buffer.concat([Buffer.from(head, "latin1"), bytes, Buffer.from("\nendstream")]);
}

/**
 * Since PDF 1.5, objects that are not streams can be compressed together in an object stream; a stream then replaces the
 * list of offsets.
 */
export function writeCompressed(objects: readonly PdfObject[]): Buffer {
  const packed = objects.flatMap((object, index) =>
    typeof object === "string" ? [{ number: index + 1, text: object }] : [],
  );
  const container = objects.length + 1;
  const list = objects.length + 2;
  const index: string[] = [];
  let at = 0;
  for (const { number, text } of packed) {
    index.push(`${number} ${at}`);
    at += text.length + 1;
  }
  const head = `${index.join(" ")} `;
  const objectStream: PdfStream = {
    dictionary: `/Type /ObjStm /N ${packed.length} /First ${head.length}`,
    content: head + packed.map(({ text }) => `${text} `).join(""),
    isCompressed: true,
  };
  const chunks: Buffer[] = [Buffer.from("%PDF-1.7\n")];
  const rows: Buffer[] = [crossReference(0, 0, 65_535)];
  const place = (number: number, object: PdfObject): void => {
    rows[number] = crossReference(1, Buffer.concat(chunks).length, 0);
    chunks.push(encodeObject(number, object));
  };
  for (const [position, { number }] of packed.entries())
    rows[number] = crossReference(2, container, position);
  for (const [position, object] of objects.entries()) {
    if (typeof object !== "string") place(position + 1, object);
  }
  place(container, objectStream);
  const start = Buffer.concat(chunks).length;
  rows[list] = crossReference(1, start, 0);
  const dictionary = `/Type /XRef /Size ${list + 1} /W [1 4 2] /Root 1 0 R`;
  chunks.push(encodeObject(list, { dictionary, content: Buffer.concat(rows), isCompressed: true }));
  return Buffer.concat([...chunks, Buffer.from(`startxref\n${start}\n%%EOF\n`)]);
}

function crossReference(type: number, second: number, third: number): Buffer {
  const row = Buffer.alloc(7);
  row.writeUInt8(type, 0);
  row.writeUInt32BE(second, 1);
  row.writeUInt16BE(third, 5);
  return row;
}

type PdfPage = {
  /** Operators of the page's content. */
  readonly content: string | Buffer;
  /** Other entries of the page, e.g. `/Rotate 90`. */
  readonly entries?: string;
};

export type DocumentPlan = {
  readonly pages: readonly PdfPage[];
  /** The fonts of all pages by name; Helvetica as `F1` by default. References start at `firstExtra`. */
  readonly fonts?: Readonly<Record<string, string>>;
  /** Entries of the pages' resources besides the fonts. */
  readonly resources?: string;
  /** Entries of the catalog. */
  readonly catalog?: string;
  /** Objects that fonts and resources refer to: the first is object 3. */
  readonly extra?: readonly PdfObject[];
  readonly isCompressed?: boolean;
};

/** The number of the first extra object. */
export const firstExtra = 3;
export const helvetica = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>";

/** The objects of a valid document. */
export function planDocument(plan: DocumentPlan): PdfObject[] {
  const {
    pages,
    fonts = { F1: helvetica },
    resources = "",
    catalog = "",
    extra = [],
    isCompressed = false,
  } = plan;
  const firstPage = firstExtra + extra.length;
  const kids = pages.map((_, index) => `${firstPage + 2 * index} 0 R`).join(" ");
  const fontEntries = Object.entries(fonts).map(([name, font]) => `/${name} ${font}`);
  const shared = `/Resources << /Font << ${fontEntries.join(" ")} >> ${resources} >> /MediaBox [0 0 612 792]`;
  return [
    `<< /Type /Catalog /Pages 2 0 R ${catalog} >>`,
    `<< /Type /Pages /Kids [${kids}] /Count ${pages.length} ${shared} >>`,
    ...extra,
    ...pages.flatMap(({ content, entries = "" }, index): PdfObject[] => [
      `<< /Type /Page /Parent 2 0 R /Contents ${firstPage + 2 * index + 1} 0 R ${entries} >>`,
      { content, isCompressed },
    ]),
  ];
}

/** Operators that show lines of text from the top of the page. */
export function showLines(lines: readonly string[], font = "F1"): string {
  const shown = lines.map((line) => `(${line.replaceAll(/[()\\]/gu, "\\$&")}) Tj T*`);
  return `BT /${font} 12 Tf 14 TL 72 720 Td ${shown.join(" ")} ET`;
}

/** A valid document with these lines on each page. */
export function textDocument(...pages: readonly (readonly string[])[]): Buffer {
  return writeObjects(planDocument({ pages: pages.map((lines) => ({ content: showLines(lines) })) }));
}
