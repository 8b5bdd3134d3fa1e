import { constants, deflateSync } from "node:zlib";
import { type SeededRandom, seededRandom } from "./seeded-random.ts";
import {
  firstExtra,
  helvetica,
  type PdfObject,
  planDocument,
  showLines,
  writeCompressed,
  writeObjects,
} from "./write-pdf.ts";

export type HostilePdf = { readonly description: string; readonly bytes: Buffer };

type Generate = (random: SeededRandom) => Buffer;

const page = { content: showLines(["Hello", "World"]) };
const validObjects = planDocument({ pages: [page, page, page], isCompressed: true });
const validFiles = [
  writeObjects(planDocument({ pages: [page, page, page] })),
  writeObjects(validObjects),
  writeCompressed(validObjects),
];

/** As many documents as asked for; every kind equally often, each from its own seed. */
export function* createHostilePdfs(count: number): Generator<HostilePdf> {
  const kinds = Object.entries(generators);
  for (let seed = 0; seed < count; seed += 1) {
    const [name, generate] = kinds[seed % kinds.length] ?? ["", () => Buffer.alloc(0)];
    yield { description: `${name} (seed ${seed})`, bytes: generate(seededRandom(seed)) };
  }
}

const generators: Readonly<Record<string, Generate>> = {
  truncated: (random) => {
    const file = random.pick(validFiles);
    return file.subarray(0, 10 + random.below(file.length - 10));
  },
  "changed bits": changeBits,
  "wrong offsets": breakOffsets,
  "deep arrays": (random) => nest("[", "]", 1000 * 10 ** random.below(4)),
  "deep dictionaries": (random) => nest("<< /A ", " >>", 1000 * 10 ** random.below(3)),
  "a cycle of pages": cyclePages,
  "wrong lengths of streams": lieAboutLengths,
  "huge declared sizes": declareSizes,
  "a decompression bomb as content": (random) => withContent(bomb(random, " ")),
  "a decompression bomb of operators": (random) => withContent(bomb(random, "BT (x) Tj ET\n")),
  "a decompression bomb as object stream": (random) => bombObjects(bomb(random, " ")),
  "a cycle of object streams": cycleObjectStreams,
  "forms that draw themselves": (random) => drawForms(1 + random.below(4), 1),
  "forms that draw each other twice": (random) => drawForms(25 + random.below(10), 2),
  "many tiny objects": (random) => countObjects(50_000 * (1 + random.below(4))),
  encrypted: encrypt,
  "scripts and actions": addActions,
  "a font of random bytes": (random) => withFont(random, "/FontFile2"),
  "a font of random bytes, as CFF": (random) => withFont(random, "/FontFile3"),
  "negative and huge numbers": useNumbers,
  "thousands of pages": (random) => countPages(random.pick([501, 2000, 10_000])),
  "a character map of millions": mapCharacters,
  "a page of very many lines": (random) =>
    withContent(
      deflateSync(
        showLines(Array.from({ length: 50_000 * (1 + random.below(4)) }, (_, index) => `word ${index}`)),
      ),
    ),
};

function changeBits(random: SeededRandom): Buffer {
  const bytes = Buffer.from(random.pick(validFiles));
  for (let changes = 1 + random.below(40); changes > 0; changes -= 1) {
    const at = 8 + random.below(bytes.length - 8);
    bytes[at] = (bytes[at] ?? 0) ^ (1 << random.below(8));
  }
  return bytes;
}

function breakOffsets(random: SeededRandom): Buffer {
  const offset = (): number => random.pick([0, -1, 1, 2 ** 31, 2 ** 40, random.below(2000)]);
  return writeObjects(validObjects, {
    end: (offsets, start) =>
      `xref\n0 ${random.pick([offsets.length + 1, 10 ** 9, -5])}\n${offsets.map(() => `${offset()} 00000 n \n`).join("")}trailer\n<< /Size ${offset()} /Root 1 0 R /Prev ${random.pick([start, 0, offset()])} >>\nstartxref\n${random.pick([start, offset()])}\n%%EOF\n`,
  });
}

function nest(open: string, close: string, depth: number): Buffer {
  const nested = `${open.repeat(depth)}${close.repeat(depth)}`;
  return writeObjects([`<< /Type /Catalog /Pages 2 0 R /Extra ${nested} >>`, ...validObjects.slice(1)]);
}

function cyclePages(random: SeededRandom): Buffer {
  const kids = random.pick(["[2 0 R]", "[3 0 R 2 0 R]", "[3 0 R]", "2 0 R"]);
  const count = random.pick([1, 3, 499]);
  return writeObjects([
    "<< /Type /Catalog /Pages 2 0 R >>",
    `<< /Type /Pages /Kids ${kids} /Count ${count} /Parent 3 0 R /Resources 2 0 R >>`,
    `<< /Type /Pages /Kids [2 0 R 3 0 R] /Count ${count} /Parent 2 0 R >>`,
  ]);
}

function lieAboutLengths(random: SeededRandom): Buffer {
  const lie = (object: PdfObject): PdfObject =>
    typeof object === "string" ? object : { ...object, length: random.pick([0, -1, 2 ** 31, 10 ** 15, 3]) };
  return writeObjects(validObjects.map(lie));
}

function declareSizes(random: SeededRandom): Buffer {
  const huge = String(random.pick([2 ** 31 - 1, 2 ** 32, 10 ** 12, 10 ** 300]));
  const replaced = random.pick(["/Count 3", "/Size", "/N ", "/W [1 4 2]", "/First "]);
  const text = random.pick(validFiles).toString("latin1");
  const replacement = replaced.startsWith("/W")
    ? `/W [${huge} ${huge} 1]`
    : `${replaced.split(" ")[0]} ${huge} `;
  return Buffer.from(text.replace(replaced, replacement), "latin1");
}

/** Blocks that end with a full flush are independent, so that one block, repeated, is a valid stream of any length. */
function bomb(random: SeededRandom, text: string): Buffer {
  const mebibyte = Buffer.alloc(1024 ** 2, text);
  const block = deflateSync(mebibyte, { finishFlush: constants.Z_FULL_FLUSH });
  const repeats = random.pick([256, 1024]);
  return Buffer.concat([block.subarray(0, 2), ...Array.from({ length: repeats }, () => block.subarray(2))]);
}

function withContent(compressed: Buffer): Buffer {
  const objects = planDocument({ pages: [page] });
  objects[firstExtra] = { dictionary: "/Filter /FlateDecode", content: compressed };
  return writeObjects(objects);
}

function bombObjects(compressed: Buffer): Buffer {
  const container: PdfObject = {
    dictionary: "/Type /ObjStm /N 100000 /First 8 /Filter /FlateDecode",
    content: compressed,
  };
  return listByStream([container], [2, 2, 2, 2]);
}

function cycleObjectStreams(random: SeededRandom): Buffer {
  const container: PdfObject = {
    dictionary: "/Type /ObjStm /N 2 /First 8 /Extends 1 0 R",
    content: "1 0 2 0 << >> << >>",
  };
  return listByStream(
    [container, container],
    random.pick([
      [1, 2],
      [2, 1],
      [2, 2],
      [1, 1],
    ]),
  );
}

/** Objects whose offsets are in a stream; the numbers of the containers say where the compressed ones are. */
function listByStream(objects: readonly PdfObject[], containers: readonly number[]): Buffer {
  return writeObjects(objects, {
    end: (_offsets, start) => {
      const rows = containers.map((container, index) => Buffer.from([2, 0, 0, 0, container, 0, index]));
      const content = Buffer.concat([Buffer.alloc(7), ...rows]).toString("latin1");
      return `9 0 obj << /Type /XRef /Size ${containers.length + 1} /W [1 4 2] /Root 1 0 R /Length ${content.length} >>\nstream\n${content}\nendstream endobj\nstartxref\n${start}\n%%EOF\n`;
    },
  });
}

/** A chain of forms in which each draws the next one, several times; the last draws the first. */
function drawForms(forms: number, times: number): Buffer {
  const extra = Array.from({ length: forms }, (_, index): PdfObject => {
    const next =
      index + 1 === forms && times > 1
        ? ""
        : `/XObject << /Next ${firstExtra + ((index + 1) % forms)} 0 R >>`;
    return {
      dictionary: `/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /Font << /F1 ${helvetica} >> ${next} >>`,
      content: `${showLines(["x"])} ${"/Next Do ".repeat(times)}`,
    };
  });
  const pages = [{ content: "/Next Do" }];
  return writeObjects(planDocument({ pages, extra, resources: `/XObject << /Next ${firstExtra} 0 R >>` }));
}

function countObjects(count: number): Buffer {
  const tiny = Array.from({ length: count }, () => "null");
  return writeObjects([...validObjects, ...tiny], { end: () => "trailer << /Root 1 0 R >>" });
}

function encrypt(random: SeededRandom): Buffer {
  const [version, revision] = random.pick([
    [1, 2],
    [2, 3],
    [4, 4],
    [5, 6],
    [99, 99],
    [-1, 0],
  ] as const);
  const key = (): string => `<${Array.from({ length: random.pick([0, 32, 48]) }, () => "a5").join("")}>`;
  return writeObjects(validObjects, {
    trailer: `/Encrypt << /Filter /Standard /V ${version} /R ${revision} /Length ${random.pick([40, 128, 256, -8, 10 ** 9])} /P -1 /O ${key()} /U ${key()} /OE ${key()} /UE ${key()} /Perms ${key()} >> /ID [<00> <00>]`,
  });
}

function addActions(random: SeededRandom): Buffer {
  const action = random.pick([
    "<< /S /JavaScript /JS (while\\(true\\){}) >>",
    "<< /S /Launch /F (/bin/sh) /Win << /F (cmd.exe) >> >>",
    "<< /S /URI /URI (file:///etc/passwd) >>",
    "<< /S /SubmitForm /F (http://127.0.0.1/) >>",
    "<< /S /GoToR /F (http://127.0.0.1/a.pdf) /D [0] >>",
  ]);
  const entries = `/AA << /O ${action} /C ${action} >> /Annots [<< /Subtype /Link /Rect [0 0 9 9] /A ${action} >>]`;
  return writeObjects(planDocument({ pages: [{ ...page, entries }], catalog: `/OpenAction ${action}` }));
}

function withFont(random: SeededRandom, kind: string): Buffer {
  const size = random.pick([100, 100_000, 8_000_000]);
  const bytes = Buffer.from(Array.from({ length: 4096 }, () => random.below(256)));
  const start = Buffer.from(
    random.pick(["00010000ffff0080000300100", "4f54544f", "01000401", "74727565"]),
    "hex",
  );
  const content = Buffer.concat([start, Buffer.alloc(size, bytes)]);
  const subtype = kind === "/FontFile3" ? "/Subtype /Type1C" : "";
  return writeObjects(
    planDocument({
      pages: [page],
      fonts: { F1: `${firstExtra} 0 R` },
      extra: [
        `<< /Type /Font /Subtype /TrueType /BaseFont /Own /FirstChar 0 /LastChar 255 /FontDescriptor ${firstExtra + 1} 0 R >>`,
        `<< /Type /FontDescriptor /FontName /Own /Flags 4 /FontBBox [0 0 1 1] ${kind} ${firstExtra + 2} 0 R >>`,
        { dictionary: subtype, content },
      ],
    }),
  );
}

function useNumbers(random: SeededRandom): Buffer {
  const number = (): string =>
    random.pick(["-1", "-1e38", "99999999999999999999", "0", "-0.0000001", "--5", "1e400", "."]);
  const content = `BT /F1 ${number()} Tf ${number()} TL ${number()} ${number()} Td ${number()} Tc ${number()} Tz (Hello) Tj ${number()} 0 0 ${number()} 0 0 Tm (World) Tj ET`;
  const entries = `/MediaBox [${number()} ${number()} ${number()} ${number()}] /Rotate ${number()} /UserUnit ${number()}`;
  return writeObjects(planDocument({ pages: [{ content, entries }] }));
}

function countPages(count: number): Buffer {
  return writeObjects(planDocument({ pages: Array.from({ length: count }, () => page) }));
}

function mapCharacters(random: SeededRandom): Buffer {
  const ranges = Array.from(
    { length: 1 + random.below(20) },
    (_, index) =>
      `<0${index.toString(16).padStart(2, "0")}00000> <0${index.toString(16).padStart(2, "0")}fffff> <0041>`,
  );
  const map = `begincmap 1 begincodespacerange <00000000> <ffffffff> endcodespacerange ${ranges.length} beginbfrange ${ranges.join(" ")} endbfrange endcmap`;
  return writeObjects(
    planDocument({
      pages: [page],
      fonts: { F1: `<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /ToUnicode ${firstExtra} 0 R >>` },
      extra: [{ content: map }],
    }),
  );
}
