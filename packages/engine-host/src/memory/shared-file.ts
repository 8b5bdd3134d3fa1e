import { closeSync } from "node:fs";

/** An anonymous file in memory, which only the server and one engine process can open. */
export type SharedFile = Disposable & {
  /** Its descriptor in this process. */
  readonly descriptor: number;
  /** The largest size that the engine process can give it. */
  readonly maxBytes: number;
};

/** Its descriptor in the engine process. */
export const sharedFileDescriptor = 5;

/** Other processes that the server starts do not inherit it. */
const closeOnExecute = 1;

/** Undefined on systems without such files, or without the library for native calls. */
export async function createSharedFile(maxBytes: number): Promise<SharedFile | undefined> {
  if (process.platform !== "linux") return undefined;
  const koffi = await import("koffi").catch(() => undefined);
  if (koffi === undefined) return undefined;
  const create = koffi.default.load(null).func("int memfd_create(const char *name, unsigned int flags)");
  const descriptor: number = create("hearth", closeOnExecute);
  if (descriptor < 0) return undefined;
  return { descriptor, maxBytes, [Symbol.dispose]: () => closeSync(descriptor) };
}
