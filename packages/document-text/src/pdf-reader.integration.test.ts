import { readFile } from "node:fs/promises";
import { recordFigure } from "@hearth-and-keep/figures";
import { afterAll, describe, expect, test } from "vitest";
import { createPdfReader } from "./pdf-reader.ts";
import {
  firstExtra,
  helvetica,
  type PdfObject,
  planDocument,
  showLines,
  textDocument,
  writeCompressed,
  writeObjects,
} from "./test/write-pdf.ts";

const reader = createPdfReader();
const { signal } = new AbortController();

afterAll(() => reader.close());

const read = (bytes: Uint8Array): Promise<string> => reader.read(bytes, signal);
const kindOf = (bytes: Uint8Array): Promise<unknown> =>
  read(bytes).catch((error: { readonly failure: { readonly kind: string } }) => error.failure.kind);

type Sample = { readonly name: string; readonly bytes: Buffer; readonly expected: string };

const timesWith = (encoding: string): string =>
  `<< /Type /Font /Subtype /Type1 /BaseFont /Times-Roman /Encoding ${encoding} >>`;

/** A font without an encoding of its own: codes are glyphs, and a map says which characters they are. */
function mappedFont(map: string): readonly PdfObject[] {
  return [
    `<< /Type /Font /Subtype /Type0 /BaseFont /Own /Encoding /Identity-H /DescendantFonts [${firstExtra + 1} 0 R] /ToUnicode ${firstExtra + 2} 0 R >>`,
    "<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Own /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> /DW 600 >>",
    {
      content: `/CIDInit /ProcSet findresource begin 12 dict begin begincmap 1 begincodespacerange <0000> <ffff> endcodespacerange ${map} endcmap end end`,
    },
  ];
}

/** Encoded by a character map of the parser's package; no font file. */
function eastAsianFont(encoding: string, ordering: string): string {
  const descendant = `<< /Type /Font /Subtype /CIDFontType0 /BaseFont /Own /CIDSystemInfo << /Registry (Adobe) /Ordering (${ordering}) /Supplement 2 >> /DW 1000 >>`;
  return `<< /Type /Font /Subtype /Type0 /BaseFont /Own /Encoding /${encoding} /DescendantFonts [${descendant}] >>`;
}

const plain = [
  { content: showLines(["Quarterly report", "Revenue (net) rose by 12 %"]) },
  { content: showLines(["Outlook"]) },
];
const plainText = "Quarterly report\nRevenue (net) rose by 12 %\n\fOutlook";
const hexText = (code: string): string => `BT /F1 12 Tf 72 720 Td <${code}> Tj ET`;

const samples: readonly Sample[] = [
  {
    name: "several pages and lines",
    bytes: writeObjects(planDocument({ pages: plain })),
    expected: plainText,
  },
  {
    name: "compressed content",
    bytes: writeObjects(planDocument({ pages: plain, isCompressed: true })),
    expected: plainText,
  },
  {
    name: "object streams and a compressed list of offsets",
    bytes: writeCompressed(planDocument({ pages: plain, isCompressed: true })),
    expected: plainText,
  },
  {
    name: "bytes before the signature",
    bytes: Buffer.concat([Buffer.from("HTTP/1.1 200 OK\r\n\r\n"), textDocument(["Shifted"])]),
    expected: "Shifted",
  },
  {
    name: "the encodings of Windows and of the Macintosh",
    bytes: writeObjects(
      planDocument({
        pages: [
          { content: `${showLines(["Caf\xe9"])} ${showLines(["Caf\x8e"], "F2").replace("720", "700")}` },
        ],
        fonts: { F1: helvetica, F2: timesWith("/MacRomanEncoding") },
      }),
    ),
    expected: "Café\nCafé",
  },
  {
    name: "ligatures, by the names of their glyphs",
    bytes: writeObjects(
      planDocument({
        pages: [{ content: showLines(["\x01nal o\x03ce \x02ow"]) }],
        fonts: { F1: timesWith("<< /Type /Encoding /Differences [1 /fi /fl /ffi] >>") },
      }),
    ),
    expected: "final office flow",
  },
  {
    name: "glyphs that only a map of the file explains",
    bytes: writeObjects(
      planDocument({
        pages: [{ content: hexText("000100020003") }],
        fonts: { F1: `${firstExtra} 0 R` },
        extra: mappedFont(
          "2 beginbfchar <0001> <0393> <0002> <03b5> endbfchar 1 beginbfrange <0003> <0003> <03b9> endbfrange",
        ),
      }),
    ),
    expected: "Γει",
  },
  {
    name: "Japanese, in Shift JIS",
    bytes: writeObjects(
      planDocument({
        pages: [{ content: hexText("93fa967b8cea") }],
        fonts: { F1: eastAsianFont("90ms-RKSJ-H", "Japan1") },
      }),
    ),
    expected: "日本語",
  },
  {
    name: "Chinese, in Unicode",
    bytes: writeObjects(
      planDocument({
        pages: [{ content: hexText("4e2d6587") }],
        fonts: { F1: eastAsianFont("UniGB-UCS2-H", "GB1") },
      }),
    ),
    expected: "中文",
  },
  {
    name: "a rotated page, and rotated text",
    bytes: writeObjects(
      planDocument({
        pages: [
          { content: showLines(["Landscape table"]), entries: "/Rotate 90" },
          { content: "BT /F1 12 Tf 0 1 -1 0 300 100 Tm (Upwards) Tj ET" },
        ],
      }),
    ),
    expected: "Landscape table\fUpwards",
  },
  {
    name: "text in a form that the page draws",
    bytes: writeObjects(
      planDocument({
        pages: [{ content: "q /Letterhead Do Q" }],
        resources: `/XObject << /Letterhead ${firstExtra} 0 R >>`,
        extra: [
          {
            dictionary: `/Type /XObject /Subtype /Form /BBox [0 0 600 800] /Resources << /Font << /F1 ${helvetica} >> >>`,
            content: showLines(["Letterhead"]),
          },
        ],
      }),
    ),
    expected: "Letterhead",
  },
];

const trimLines = (text: string): string =>
  text
    .split("\f")
    .map((page) => page.trim().replaceAll(/ *\n+ */gu, "\n"))
    .join("\f");

test("every kind of PDF is read word for word", async () => {
  const texts = await Promise.all(
    samples.map(async ({ name, bytes }) => [name, trimLines(await read(bytes))]),
  );
  expect(texts).toEqual(samples.map(({ name, expected }) => [name, trimLines(expected)]));
  recordFigure({
    claim: "agents 9",
    text: `${samples.length} of ${samples.length} kinds of PDFs are read word for word: ${samples.map(({ name }) => name).join("; ")}`,
    counted: { reached: samples.length, needed: 11 },
  });
});

const otherPrograms = {
  chromium:
    "Contract of lease\nThe tenant pays on the first day of each month; efficient office hours apply.\nGrüße aus Köln — €1,200.50",
  fpdf: "Minutes of the meeting\nPresent: all members\nDecided: café opens at nine\fSecond page",
  reportlab:
    "Annual report\nThe harvest of the year was larger than expected, and prices fell by 7 %.\nField Tons\nNorth 120\nSouth 95",
} as const;

test("PDFs that other programs have written are read", async () => {
  const names = Object.keys(otherPrograms);
  const texts = await Promise.all(
    names.map(async (name) => {
      const bytes = await readFile(new URL(`fixtures/written-by-${name}.pdf`, import.meta.url));
      return [name, trimLines(await read(bytes))];
    }),
  );
  expect(Object.fromEntries(texts)).toEqual(otherPrograms);
  recordFigure({
    claim: "agents 9",
    text: `${names.length} of ${names.length} PDFs of other programs are read word for word: ${names.join(", ")}`,
    counted: { reached: names.length, needed: 3 },
  });
});

test("a PDF with actions and scripts is read, and its text is all that it yields", async () => {
  const actions =
    "/OpenAction << /S /JavaScript /JS (app.alert\\(1\\); this.exportDataObject\\({}\\)) >> /Names << /JavaScript << /Names [(a) << /S /JavaScript /JS (while\\(true\\){}) >>] >> >> /AA << /WC << /S /Launch /F (/bin/sh) >> >>";
  const pages = [
    { content: showLines(["Invoice"]), entries: "/AA << /O << /S /URI /URI (http://127.0.0.1:1/) >> >>" },
  ];
  expect((await read(writeObjects(planDocument({ pages, catalog: actions })))).trim()).toBe("Invoice");
});

describe("a PDF without usable text fails with the reason", () => {
  const encrypted = `/Encrypt << /Filter /Standard /V 2 /R 3 /Length 128 /P -44 /O <${"41".repeat(32)}> /U <${"42".repeat(32)}> >> /ID [<00> <00>]`;
  const pages = planDocument({ pages: plain });
  test.each<{ readonly name: string; readonly bytes: Buffer; readonly kind: string }>([
    { name: "an image", bytes: Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), kind: "pdf-invalid" },
    { name: "nothing", bytes: Buffer.alloc(0), kind: "pdf-invalid" },
    { name: "a signature and nothing else", bytes: Buffer.from("%PDF-1.7\n"), kind: "pdf-invalid" },
    { name: "a password", bytes: writeObjects(pages, { trailer: encrypted }), kind: "pdf-encrypted" },
    { name: "no text", bytes: textDocument([], []), kind: "pdf-without-text" },
    { name: "spaces only", bytes: textDocument(["   "]), kind: "pdf-without-text" },
    {
      name: "501 pages",
      bytes: textDocument(...Array.from({ length: 501 }, () => ["x"])),
      kind: "pdf-too-many-pages",
    },
    { name: "more than 32 MiB", bytes: Buffer.alloc(32 * 1024 ** 2 + 1, "%PDF-"), kind: "pdf-too-large" },
  ])("$name", async ({ bytes, kind }) => {
    expect(await kindOf(bytes)).toBe(kind);
  });
});

test("500 pages are read, in order", async () => {
  const numbers = Array.from({ length: 500 }, (_, index) => String(index + 1));
  const text = await read(textDocument(...numbers.map((number) => [number])));
  expect(text.split("\f").map((page) => page.trim())).toEqual(numbers);
});

test("text over the limit is cut, and says so", async () => {
  await using small = createPdfReader({ limits: { textBytes: 100 } });
  const text = await small.read(
    textDocument(Array.from({ length: 50 }, () => "Ten words are about fifty bytes long.")),
    signal,
  );
  expect(text).toMatch(/^Ten words.*\n\[The rest of the document is omitted because it is too long\]$/su);
  expect(text.length).toBeLessThan(200);
  expect(await small.read(textDocument(["x".repeat(99)]), signal)).not.toContain("omitted");
});

test("two documents are read at the same time, and more than the queue holds are rejected", async () => {
  await using small = createPdfReader({ limits: { processes: 2, waiting: 1 } });
  const results = await Promise.allSettled(
    [1, 2, 3, 4].map((number) => small.read(textDocument([`Number ${number}`]), signal)),
  );
  expect(results.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "fulfilled", "rejected"]);
  expect(results[3]).toMatchObject({ reason: { failure: { kind: "pdf-reader-busy", waiting: 1 } } });
});

test("a client that hangs up ends its document, and a waiting one takes its slot", async () => {
  await using single = createPdfReader({ limits: { processes: 1 } });
  const [first, second] = [new AbortController(), new AbortController()];
  const running = single.read(textDocument(["First"]), first.signal);
  const waiting = single.read(textDocument(["Second"]), second.signal);
  const last = single.read(textDocument(["Last"]), signal);
  second.abort();
  await expect(waiting).rejects.toThrow("aborted");
  first.abort();
  await expect(running).rejects.toThrow("aborted");
  expect((await last).trim()).toBe("Last");
});

test("closing ends what is being read, and nothing is read afterwards", async () => {
  const closed = createPdfReader();
  const running = closed.read(textDocument(["Text"]), signal);
  const [result] = await Promise.allSettled([running, closed.close()]);
  expect(result).toMatchObject({ status: "rejected", reason: { name: "AbortError" } });
  await expect(closed.read(textDocument(["Text"]), signal)).rejects.toThrow("closed");
});

test("a machine that would run the parser as root reads no PDF", async () => {
  const { inspectMachine } = await import("@hearth-and-keep/engine-host");
  const machine = {
    ...inspectMachine(),
    isRoot: true,
    bubblewrap: undefined,
    restrictedStart: undefined,
    setpriv: undefined,
  };
  await using unprotected = createPdfReader({ machine });
  await expect(unprotected.read(textDocument(["Text"]), signal)).rejects.toMatchObject({
    failure: { kind: "pdf-reader-unavailable" },
  });
});
