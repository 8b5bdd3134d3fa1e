import type { SecretValue } from "@hearth-and-keep/vault-contract";

type Content = Pick<SecretValue, "value" | "encoding">;

const bytesAtOnce = 32_768;

export async function readAsBase64(file: Blob): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = "";
  for (let at = 0; at < bytes.length; at += bytesAtOnce) {
    text += String.fromCharCode(...bytes.subarray(at, at + bytesAtOnce));
  }
  return btoa(text);
}

function bytesOf({ value, encoding }: Content): Uint8Array<ArrayBuffer> {
  if (encoding === "utf8") return new TextEncoder().encode(value);
  return Uint8Array.from(atob(value), (letter) => letter.charCodeAt(0));
}

/** Handed to the browser to be saved; the page forgets it at once. */
export function saveAsFile(name: string, content: Content): void {
  const url = URL.createObjectURL(new Blob([bytesOf(content)], { type: "application/octet-stream" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

export function saySize(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`;
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)} KiB`;
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}
