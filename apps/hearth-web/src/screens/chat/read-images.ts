const maxImages = 8;
const maxBytes = 10_000_000;

export type ReadImages = { readonly images: readonly string[]; readonly error: string };

/** Reads files as data URLs. Files beyond the limits are left out, and `error` says so. */
export async function readImages(files: readonly File[], attachedCount: number): Promise<ReadImages> {
  const small = files.filter(({ size }) => size <= maxBytes);
  const accepted = small.slice(0, Math.max(0, maxImages - attachedCount));
  const images = await Promise.all(accepted.map(readAsDataUrl));
  const errors = [
    small.length < files.length ? "Images larger than 10 MB were skipped." : "",
    accepted.length < small.length ? `A message can have at most ${maxImages} images.` : "",
  ];
  return { images, error: errors.filter((text) => text !== "").join(" ") };
}

function readAsDataUrl(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve(typeof reader.result === "string" ? reader.result : ""));
    reader.addEventListener("error", () => reject(reader.error ?? new Error("Cannot read the file")));
    reader.readAsDataURL(file);
  });
}
