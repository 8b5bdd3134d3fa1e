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
  readonly description: string;
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
const formats = Object.entries(drawn);

/** Inputs that have broken the image decoders of other servers, and pseudo-random corruption. Deterministic. */
export function createHostileImages(): readonly HostileImage[] {
  return [
    ...impossibleSizes(),
    ...animations(),
    ...unusualPixelFormats(),
    ...truncatedImages(),
    ...wrongLengths(),
    ...polyglots(),
    ...otherFormats(),
    ...decompressionBombs(),
    ...corruptedBytes(),
  ];
}

function hostile(description: string, declaredType: string, bytes: Buffer): HostileImage {
  return { description, bytes, declaredType };
}

/** Overwrites the size in the header of a small image, so that nothing large is drawn. */
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
    const [png, jpeg, gif, bmp] = formats.map(([, { bytes }]) => Buffer.from(bytes));
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
      const [name = "", { mediaType } = { mediaType: "" }] = formats[index] ?? [];
      return hostile(`${name} that claims to be ${width} by ${height}`, mediaType, bytes ?? Buffer.alloc(0));
    });
  });
}

const control = (frames: number): Buffer => pngChunk("acTL", Buffer.from([0, 0, 0, frames, 0, 0, 0, 0]));

function animations(): HostileImage[] {
  const counts = [2, 3, 10];
  return counts.flatMap((frames) => [
    hostile(`gif of ${frames} frames`, "image/gif", drawGif({ ...size, frames })),
    hostile(`png of ${frames} frames`, "image/png", drawPng({ ...size, before: [control(frames)] })),
    hostile(
      `webp of ${frames} frames`,
      "image/webp",
      drawWebp(Array.from({ length: frames }, () => webpChunk("ANMF", Buffer.alloc(16)))),
    ),
  ]);
}

function unusualPixelFormats(): HostileImage[] {
  const depths = [1, 2, 4, 8, 16] as const;
  const types = [0, 2, 3, 4, 6] as const;
  const pngs = depths.flatMap((bitDepth) =>
    types.map((colourType) =>
      hostile(
        `png of colour type ${colourType}, ${bitDepth} bits`,
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
        `jpeg of ${count} components, transform ${transform}`,
        "image/jpeg",
        drawJpeg({ ...size, components: count, before: [before] }),
      ),
    ),
  );
  const frames = [0xc1, 0xc2, 0xc3, 0xc5, 0xc9, 0xcb, 0xcf].map((frame) =>
    hostile(`jpeg with frame marker ${frame}`, "image/jpeg", drawJpeg({ ...size, frame })),
  );
  return [...pngs, ...jpegs, ...frames];
}

function truncatedImages(): HostileImage[] {
  const shares = [0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99];
  return formats.flatMap(([name, { mediaType, bytes }]) =>
    shares.map((share) =>
      hostile(
        `${name} truncated at ${share}`,
        mediaType,
        bytes.subarray(0, Math.max(1, Math.floor(bytes.length * share))),
      ),
    ),
  );
}

function wrongLengths(): HostileImage[] {
  const lengths = [0, 1, 0x7f_ff_ff_ff, 0x80_00_00_00, 0xff_ff_ff_ff];
  const chunks = lengths.map((length) => {
    const bytes = Buffer.from(drawn.png.bytes);
    bytes.writeUInt32BE(length, 33);
    return hostile(`png whose pixel chunk claims ${length} bytes`, "image/png", bytes);
  });
  const segments = [0, 1, 2, 0x7f_ff, 0xff_ff].map((length) => {
    const bytes = Buffer.from(drawn.jpeg.bytes);
    bytes.writeUInt16BE(length, 4);
    return hostile(`jpeg with a table of ${length} bytes`, "image/jpeg", bytes);
  });
  const offsets = [0, 53, 54 + 1, 0x7f_ff_ff_ff, 0xff_ff_ff_ff].map((offset) => {
    const bytes = Buffer.from(drawn.bmp.bytes);
    bytes.writeUInt32LE(offset, 10);
    return hostile(`bmp whose pixels start at ${offset}`, "image/bmp", bytes);
  });
  const depths = [0, 1, 2, 9, 48, 0xff_ff].map((bits) => {
    const bytes = Buffer.from(drawn.bmp.bytes);
    bytes.writeUInt16LE(bits, 28);
    return hostile(`bmp of ${bits} bits per pixel`, "image/bmp", bytes);
  });
  return [...chunks, ...segments, ...offsets, ...depths];
}

/** Another file after or before the image, or an image declared as another type. */
function polyglots(): HostileImage[] {
  const others = {
    zip: Buffer.from("PK\x03\x04\x14\0\0\0\0\0", "latin1"),
    pdf: Buffer.from("%PDF-1.7\n1 0 obj\n<<>>\nendobj\n"),
    html: Buffer.from("<html><script>alert(1)</script></html>"),
    wav: Buffer.from("RIFF\x24\0\0\0WAVEfmt ", "latin1"),
  };
  const followed = formats.flatMap(([name, { mediaType, bytes }]) =>
    Object.entries(others).map(([other, more]) =>
      hostile(`${name} followed by ${other}`, mediaType, Buffer.concat([bytes, more])),
    ),
  );
  const preceded = formats.flatMap(([name, { mediaType, bytes }]) =>
    Object.entries(others).map(([other, more]) =>
      hostile(`${name} preceded by ${other}`, mediaType, Buffer.concat([more, bytes])),
    ),
  );
  const swapped = formats.flatMap(([name, { bytes }]) =>
    formats
      .filter(([other]) => other !== name)
      .map(([other, { mediaType }]) => hostile(`${name} declared as ${other}`, mediaType, bytes)),
  );
  return [...followed, ...preceded, ...swapped];
}

/** The engine's decoders would accept some of them: audio, video and Photoshop images. */
function otherFormats(): HostileImage[] {
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
    hostile(
      `a file of type ${type}`,
      type.startsWith("image/") ? type : "image/png",
      Buffer.from(head, "latin1"),
    ),
  );
}

function decompressionBombs(): HostileImage[] {
  const large = { width: 10_000, height: 10_000, bitDepth: 1, colourType: 0 } as const;
  const compressed = drawPng({ ...large, packing: 9 });
  const understated = Buffer.from(drawPng({ width: 4000, height: 4000, colourType: 0 }));
  understated.writeUInt32BE(8, 16);
  understated.writeUInt32BE(8, 20);
  const header = drawn.png.bytes.subarray(8, 33);
  const withoutPixels = [
    pngSignature,
    header,
    pngChunk("IDAT", Buffer.alloc(0)),
    pngChunk("IEND", Buffer.alloc(0)),
  ];
  return [
    hostile("png of 100 megapixels in 12 MB", "image/png", drawPng({ ...large, packing: 0 })),
    hostile("png of 100 megapixels in a few kB", "image/png", compressed),
    hostile("png that decompresses to far more than it claims", "image/png", understated),
    hostile("png without pixels", "image/png", Buffer.concat(withoutPixels)),
    hostile(
      "png of 20 megapixels, 16 bits",
      "image/png",
      drawPng({ width: 5000, height: 4000, bitDepth: 16 }),
    ),
    hostile("jpeg of 36 megapixels", "image/jpeg", drawJpeg({ width: 6000, height: 6000, components: 4 })),
  ];
}

const corruptionsPerFormat = 24;

/** Changes a few bytes at pseudo-random offsets with a fixed seed. */
function corruptedBytes(): HostileImage[] {
  let state = 9;
  const next = (bound: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((state / 2 ** 31) * bound);
  };
  return formats.flatMap(([name, { mediaType, bytes }]) =>
    Array.from({ length: corruptionsPerFormat }, (_, index) => {
      const corrupted = Buffer.from(bytes);
      for (let flip = 0; flip <= index % 6; flip += 1) corrupted[4 + next(corrupted.length - 4)] = next(256);
      return hostile(`${name}, corruption ${index + 1}`, mediaType, corrupted);
    }),
  );
}
