import { readFileSync } from "node:fs";
import { observeMappings } from "@hearth-and-keep/engine-host";
import type Koffi from "koffi";

/** Smaller buffers are cleared as usual: that takes less than 10 ms. */
const minBytes = 16 * 1024 ** 2;

/**
 * Offsets in two structures of ggml, which are not part of its interface. The binding's version is pinned, and a buffer
 * that does not look as described here is left alone.
 */
const typeOffsets = { allocate: 8 } as const;
const bufferOffsets = { clear: 72, reset: 80, type: 88, base: 96, size: 104 } as const;

type Uncleared<Result> = {
  readonly result: Result;
  /** 0 if everything was cleared. */
  readonly unclearedBytes: number;
};

/**
 * While `create` runs, large buffers that llama.cpp has just allocated are not cleared if the kernel provides them now:
 * such memory contains zeros, and occupies nothing until it is written. Clearing it would occupy all of it, although
 * most of a cache is never used, and takes most of the time that creating a context takes.
 */
export async function createUncleared<Result>(create: () => Promise<Result>): Promise<Uncleared<Result>> {
  const buffers = await openBuffers().catch(() => undefined);
  if (buffers === undefined) return { result: await create(), unclearedBytes: 0 };
  const hooks = hookBuffers(buffers);
  try {
    return { result: await create(), unclearedBytes: hooks.unclearedBytes() };
  } finally {
    hooks.remove();
  }
}

type Buffers = {
  readonly koffi: typeof Koffi;
  /** The type of the buffers in the machine's own memory. */
  readonly type: bigint;
  readonly read: (address: bigint, offset: number) => bigint;
  readonly write: (address: bigint, offset: number, value: bigint) => void;
};

/** Undefined where llama.cpp's library cannot be called, or the kernel does not list what is mapped. */
async function openBuffers(): Promise<Buffers | undefined> {
  const is64Bit = process.arch === "x64" || process.arch === "arm64";
  if (process.platform !== "linux" || !is64Bit) return undefined;
  const [path, ...others] = new Set(
    readFileSync("/proc/self/maps", "utf8").match(/\/\S*\/libggml-base\.so\S*$/gmu) ?? [],
  );
  if (path === undefined || others.length > 0) return undefined;
  const { default: koffi } = await import("koffi");
  const findType = koffi.load(path).func("uintptr_t ggml_backend_cpu_buffer_type()");
  return {
    koffi,
    type: BigInt(findType()),
    read: (address, offset) => BigInt(koffi.decode(address, offset, "uintptr_t")),
    write: (address, offset, value) => koffi.encode(address, offset, "uintptr_t", value),
  };
}

/**
 * Replaces the function that allocates buffers, and in each large buffer the function that clears it. llama.cpp calls
 * both on another thread, which waits for this one. The second replaces itself by the original when it is called, and
 * remains registered, because a buffer may outlive the hooks without having been cleared.
 */
function hookBuffers({ koffi, type, read, write }: Buffers): {
  remove(): void;
  unclearedBytes(): number;
} {
  const allocateType = koffi.proto("uintptr_t (uintptr_t type, size_t size)");
  const clearType = koffi.proto("void (uintptr_t buffer, uint8_t value)");
  const originalAllocate = read(type, typeOffsets.allocate);
  const originalClears = new Map<bigint, bigint>();
  let unclearedBytes = 0;
  let isRemoved = false;
  const clear = koffi.register((address: number, value: number) => {
    const buffer = BigInt(address);
    const originalClear = originalClears.get(buffer) ?? 0n;
    write(buffer, bufferOffsets.clear, originalClear);
    if (isRemoved || value !== 0) koffi.call(originalClear, clearType, buffer, value);
    else unclearedBytes += Number(read(buffer, bufferOffsets.size));
  }, koffi.pointer(clearType));
  const allocate = koffi.register((_type: number, size: number) => {
    const isNew = size < minBytes ? () => false : observeMappings();
    const buffer = BigInt(koffi.call(originalAllocate, allocateType, type, size));
    if (size < minBytes || buffer === 0n || !isAsExpected(buffer, size)) return buffer;
    if (!isNew(Number(read(buffer, bufferOffsets.base)), size)) return buffer;
    originalClears.set(buffer, read(buffer, bufferOffsets.clear));
    write(buffer, bufferOffsets.clear, koffi.address(clear));
    return buffer;
  }, koffi.pointer(allocateType));
  const isAsExpected = (buffer: bigint, size: number): boolean =>
    read(buffer, bufferOffsets.type) === type &&
    read(buffer, bufferOffsets.size) === BigInt(size) &&
    read(buffer, bufferOffsets.reset) === 0n;
  write(type, typeOffsets.allocate, koffi.address(allocate));
  return {
    remove() {
      isRemoved = true;
      write(type, typeOffsets.allocate, originalAllocate);
      koffi.unregister(allocate);
    },
    unclearedBytes: () => unclearedBytes,
  };
}
