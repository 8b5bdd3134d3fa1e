const mostImages = 8;
const mostBytes = 10_000_000;

export type ReadImages = { readonly images: readonly string[]; readonly mistake: string };

/** As data addresses; what is too much is left out and told. */
export async function readImages(files: readonly File[], already: number): Promise<ReadImages> {
  const fitting = files.filter(({ size }) => size <= mostBytes);
  const taken = fitting.slice(0, Math.max(0, mostImages - already));
  const images = await Promise.all(taken.map(readOne));
  const mistakes = [
    fitting.length < files.length ? "An image larger than 10 MB was left out." : "",
    taken.length < fitting.length ? `At most ${mostImages} images go with one question.` : "",
  ];
  return { images, mistake: mistakes.filter((text) => text !== "").join(" ") };
}

function readOne(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve(typeof reader.result === "string" ? reader.result : ""));
    reader.addEventListener("error", () => reject(reader.error ?? new Error("Cannot read the file")));
    reader.readAsDataURL(file);
  });
}
