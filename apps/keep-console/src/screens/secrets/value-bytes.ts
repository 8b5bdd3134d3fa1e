import { saveFile } from "@hearth-and-keep/page-design";
import type { SecretValue } from "@hearth-and-keep/vault-contract";

type Content = Pick<SecretValue, "value" | "encoding">;

const chunkBytes = 32_768;

export async function readAsBase64(file: Blob): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = "";
  for (let offset = 0; offset < bytes.length; offset += chunkBytes) {
    text += String.fromCharCode(...bytes.subarray(offset, offset + chunkBytes));
  }
  return btoa(text);
}

function decodeContent({ value, encoding }: Content): Uint8Array<ArrayBuffer> {
  if (encoding === "utf8") return new TextEncoder().encode(value);
  return Uint8Array.from(atob(value), (character) => character.charCodeAt(0));
}

export function saveAsFile(name: string, content: Content): void {
  saveFile(name, new Blob([decodeContent(content)], { type: "application/octet-stream" }));
}

export function formatBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`;
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)} KiB`;
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}
