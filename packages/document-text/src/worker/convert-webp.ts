import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import decode, { init } from "@jsquash/webp/decode.js";
import { encodePng } from "./encode-png.ts";
import type { JobResponse } from "./wire-format.ts";

/** In a bundle, the WebAssembly module is next to it. */
const decoder = import.meta.url.endsWith(".ts")
  ? import.meta.resolve("@jsquash/webp/codec/dec/webp_dec.wasm")
  : new URL("webp_dec.wasm", import.meta.url).href;

export async function convertWebp(bytes: Uint8Array, maxPixels: number): Promise<JobResponse> {
  try {
    await init({ wasmBinary: readFileSync(fileURLToPath(decoder)) });
    const { width, height, data: channels } = await decode(bytes.slice().buffer);
    if (width * height > maxPixels) return invalid;
    return { status: "png", content: encodePng({ width, height, channels }) };
  } catch {
    return invalid;
  }
}

const invalid: JobResponse = { status: "image-invalid", content: Buffer.alloc(0) };
