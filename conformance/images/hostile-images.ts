import {
  drawBmp,
  drawGif,
  drawJpeg,
  drawPng,
  drawWebp,
  jpegSegment,
  pngChunk,
  pngSignature,
  smallestWebp,
  webpChunk,
} from "../../apps/hearth/src/images/test/draw-images.ts";

export type HostileImage = {
  readonly why: string;
  readonly bytes: Buffer;
  readonly declaredType: string;
};

const size = { width: 64, height: 48 };
const drawn = {
  png: { mediaType: "image/png", bytes: drawPng(size) },
  jpeg: { mediaType: "image/jpeg", bytes: drawJpeg(size) },
  gif: { mediaType: "image/gif", bytes: drawGif(size) },
  bmp: { mediaType: "image/bmp", bytes: drawBmp(size) },
} as const;
const kinds = Object.entries(drawn);

/** Everything that image decoders of other servers have stumbled over, and chance beside it. Always the same ones. */
export function makeHostileImages(): readonly HostileImage[] {
  return [
    ...impossibleSizes(),
    ...thingsThatMove(),
    ...oddPixels(),
    ...cutShort(),
    ...lyingLengths(),
    ...polyglots(),
    ...otherKinds(),
    ...bombs(),
    ...flippedBytes(),
  ];
}

function hostile(why: string, declaredType: string, bytes: Buffer): HostileImage {
  return { why, bytes, declaredType };
}

/** The size written over that of a small image, so that nothing large is drawn. */
function impossibleSizes(): HostileImage[] {
  const sizes = [
    [65_535, 65_535],
    [65_535, 1],
    [1, 65_535],
    [0, 48],
    [64, 0],
    [0, 0],
    [1, 1],
    [16_385, 16],
    [16_384, 2],
    [7000, 7000],
  ] as const;
  return sizes.flatMap(([width, height]) => {
    const [png, jpeg, gif, bmp] = kinds.map(([, { bytes }]) => Buffer.from(bytes));
    png?.writeUInt32BE(width, 16);
    png?.writeUInt32BE(height, 20);
    const frame = jpeg?.indexOf(Buffer.from([0xff, 0xc0])) ?? 0;
    jpeg?.writeUInt16BE(height, frame + 5);
    jpeg?.writeUInt16BE(width, frame + 7);
    gif?.writeUInt16LE(width, 6);
    gif?.writeUInt16LE(height, 8);
    bmp?.writeInt32LE(width, 18);
    bmp?.writeInt32LE(height, 22);
    return [png, jpeg, gif, bmp].map((bytes, index) => {
      const [name = "", { mediaType } = { mediaType: "" }] = kinds[index] ?? [];
      return hostile(`${name} that says ${width} by ${height}`, mediaType, bytes ?? Buffer.alloc(0));
    });
  });
}

const control = (frames: number): Buffer => pngChunk("acTL", Buffer.from([0, 0, 0, frames, 0, 0, 0, 0]));

function thingsThatMove(): HostileImage[] {
  const counts = [2, 3, 10];
  return counts.flatMap((frames) => [
    hostile(`gif of ${frames} pictures`, "image/gif", drawGif({ ...size, frames })),
    hostile(`png of ${frames} pictures`, "image/png", drawPng({ ...size, before: [control(frames)] })),
    hostile(
      `webp of ${frames} pictures`,
      "image/webp",
      drawWebp(Array.from({ length: frames }, () => webpChunk("ANMF", Buffer.alloc(16)))),
    ),
  ]);
}

function oddPixels(): HostileImage[] {
  const depths = [1, 2, 4, 8, 16] as const;
  const types = [0, 2, 3, 4, 6] as const;
  const pngs = depths.flatMap((bitDepth) =>
    types.map((colourType) =>
      hostile(
        `png of type ${colourType}, ${bitDepth} bits`,
        "image/png",
        drawPng({ ...size, bitDepth, colourType }),
      ),
    ),
  );
  const components = [1, 3, 4] as const;
  const adobe = [0, 1, 2].map((transform) =>
    jpegSegment(0xee, [...Buffer.from("Adobe"), 0, 100, 0, 0, 0, 0, transform]),
  );
  const jpegs = components.flatMap((count) =>
    adobe.map((before, transform) =>
      hostile(
        `jpeg of ${count} inks, transform ${transform}`,
        "image/jpeg",
        drawJpeg({ ...size, components: count, before: [before] }),
      ),
    ),
  );
  const frames = [0xc1, 0xc2, 0xc3, 0xc5, 0xc9, 0xcb, 0xcf].map((frame) =>
    hostile(`jpeg packed by method ${frame}`, "image/jpeg", drawJpeg({ ...size, frame })),
  );
  return [...pngs, ...jpegs, ...frames];
}

function cutShort(): HostileImage[] {
  const shares = [0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99];
  return kinds.flatMap(([name, { mediaType, bytes }]) =>
    shares.map((share) =>
      hostile(
        `${name} cut at ${share}`,
        mediaType,
        bytes.subarray(0, Math.max(1, Math.floor(bytes.length * share))),
      ),
    ),
  );
}

function lyingLengths(): HostileImage[] {
  const lengths = [0, 1, 0x7f_ff_ff_ff, 0x80_00_00_00, 0xff_ff_ff_ff];
  const chunks = lengths.map((length) => {
    const bytes = Buffer.from(drawn.png.bytes);
    bytes.writeUInt32BE(length, 33);
    return hostile(`png whose pixels say they are ${length} bytes`, "image/png", bytes);
  });
  const segments = [0, 1, 2, 0x7f_ff, 0xff_ff].map((length) => {
    const bytes = Buffer.from(drawn.jpeg.bytes);
    bytes.writeUInt16BE(length, 4);
    return hostile(`jpeg with a table of ${length} bytes`, "image/jpeg", bytes);
  });
  const offsets = [0, 53, 54 + 1, 0x7f_ff_ff_ff, 0xff_ff_ff_ff].map((offset) => {
    const bytes = Buffer.from(drawn.bmp.bytes);
    bytes.writeUInt32LE(offset, 10);
    return hostile(`bmp whose pixels begin at ${offset}`, "image/bmp", bytes);
  });
  const depths = [0, 1, 2, 9, 48, 0xff_ff].map((bits) => {
    const bytes = Buffer.from(drawn.bmp.bytes);
    bytes.writeUInt16LE(bits, 28);
    return hostile(`bmp of ${bits} bits a point`, "image/bmp", bytes);
  });
  return [...chunks, ...segments, ...offsets, ...depths];
}

/** Another file behind, inside or in place of what is declared. */
function polyglots(): HostileImage[] {
  const others = {
    zip: Buffer.from("PK\x03\x04\x14\0\0\0\0\0", "latin1"),
    pdf: Buffer.from("%PDF-1.7\n1 0 obj\n<<>>\nendobj\n"),
    page: Buffer.from("<html><script>alert(1)</script></html>"),
    sound: Buffer.from("RIFF\x24\0\0\0WAVEfmt ", "latin1"),
  };
  const behind = kinds.flatMap(([name, { mediaType, bytes }]) =>
    Object.entries(others).map(([other, more]) =>
      hostile(`${name} with a ${other} behind it`, mediaType, Buffer.concat([bytes, more])),
    ),
  );
  const before = kinds.flatMap(([name, { mediaType, bytes }]) =>
    Object.entries(others).map(([other, more]) =>
      hostile(`${name} with a ${other} before it`, mediaType, Buffer.concat([more, bytes])),
    ),
  );
  const swapped = kinds.flatMap(([name, { bytes }]) =>
    kinds
      .filter(([other]) => other !== name)
      .map(([other, { mediaType }]) => hostile(`${name} that is called ${other}`, mediaType, bytes)),
  );
  return [...behind, ...before, ...swapped];
}

/** Some of them the engine's decoders would take: sound, video, and pictures of Photoshop. */
function otherKinds(): HostileImage[] {
  const heads = {
    "image/webp": smallestWebp.toString("latin1"),
    "image/tiff": "II*\0\b\0\0\0\0\0",
    "image/heic": "\0\0\0\x20ftypheic",
    "image/x-icon": "\0\0\x01\0\x01\0\x10\x10",
    "image/vnd.adobe.photoshop": "8BPS\0\x01\0\0\0\0\0\0\0\x03\0\0\0\x40\0\0\0\x40\0\x08\0\x03",
    "image/x-portable-pixmap": `P6\n8 8\n255\n${"a".repeat(192)}`,
    "image/vnd.radiance": "#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 1 +X 1\n\x01\x01\x01\x01",
    "image/svg+xml": '<svg xmlns="http://www.w3.org/2000/svg"/>',
    "audio/wav": "RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0",
    "audio/mpeg": "ID3\x03\0\0\0\0\0\0",
    "audio/flac": "fLaC\0\0\0\x22",
    "video/mp4": "\0\0\0\x20ftypisom",
    "application/pdf": "%PDF-1.7",
    "text/plain": "An image, believe me",
  };
  return Object.entries(heads).map(([type, head]) =>
    hostile(`what is ${type}`, type.startsWith("image/") ? type : "image/png", Buffer.from(head, "latin1")),
  );
}

function bombs(): HostileImage[] {
  const large = { width: 10_000, height: 10_000, bitDepth: 1, colourType: 0 } as const;
  const squeezed = drawPng({ ...large, packing: 9 });
  const behindSmall = Buffer.from(drawPng({ width: 4000, height: 4000, colourType: 0 }));
  behindSmall.writeUInt32BE(8, 16);
  behindSmall.writeUInt32BE(8, 20);
  const header = drawn.png.bytes.subarray(8, 33);
  const emptied = [
    pngSignature,
    header,
    pngChunk("IDAT", Buffer.alloc(0)),
    pngChunk("IEND", Buffer.alloc(0)),
  ];
  return [
    hostile("png of 100 megapixels in 12 MB", "image/png", drawPng({ ...large, packing: 0 })),
    hostile("png of 100 megapixels in a few kB", "image/png", squeezed),
    hostile("png that unpacks to far more than it says", "image/png", behindSmall),
    hostile("png without pixels", "image/png", Buffer.concat(emptied)),
    hostile(
      "png of 20 megapixels, 16 bits",
      "image/png",
      drawPng({ width: 5000, height: 4000, bitDepth: 16 }),
    ),
    hostile("jpeg of 36 megapixels", "image/jpeg", drawJpeg({ width: 6000, height: 6000, components: 4 })),
  ];
}

const flipsOfKind = 24;

/** A few bytes changed at places that a fixed row of numbers chooses. */
function flippedBytes(): HostileImage[] {
  let state = 9;
  const next = (bound: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((state / 2 ** 31) * bound);
  };
  return kinds.flatMap(([name, { mediaType, bytes }]) =>
    Array.from({ length: flipsOfKind }, (_, index) => {
      const bent = Buffer.from(bytes);
      for (let flip = 0; flip <= index % 6; flip += 1) bent[4 + next(bent.length - 4)] = next(256);
      return hostile(`${name} bent for the ${index + 1}th time`, mediaType, bent);
    }),
  );
}
