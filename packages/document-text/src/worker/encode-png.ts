import { crc32, deflateSync } from "node:zlib";

export type Pixels = {
  readonly width: number;
  readonly height: number;
  /** Red, green, blue and alpha. */
  readonly channels: Uint8ClampedArray;
};

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** PNG's numbers for RGB with and without alpha, and for rows of differences to the pixel on the left. */
const [rgb, rgbWithAlpha, differences] = [2, 6, 1];

export function encodePng(pixels: Pixels): Buffer {
  const { width, height } = pixels;
  const channelCount = isOpaque(pixels) ? 3 : 4;
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, channelCount === 3 ? rgb : rgbWithAlpha], 8);
  return Buffer.concat([
    signature,
    chunk("IHDR", header),
    // Pixels are compressed for one use on the same machine.
    chunk("IDAT", deflateSync(filterRows(pixels, channelCount), { level: 1 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function isOpaque({ channels }: Pixels): boolean {
  for (let at = 3; at < channels.length; at += 4) if (channels[at] !== 255) return false;
  return true;
}

function filterRows({ width, height, channels }: Pixels, channelCount: 3 | 4): Buffer {
  const rows = Buffer.alloc(height * (1 + width * channelCount));
  let to = 0;
  for (let y = 0; y < height; y += 1) {
    rows[to++] = differences;
    for (let x = 0; x < width; x += 1) {
      const from = 4 * (y * width + x);
      for (let channel = 0; channel < channelCount; channel += 1) {
        const left = x === 0 ? 0 : (channels[from - 4 + channel] ?? 0);
        rows[to++] = (channels[from + channel] ?? 0) - left;
      }
    }
  }
  return rows;
}

function chunk(type: string, content: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), content]);
  const [length, checksum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(content.length);
  checksum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, checksum]);
}
