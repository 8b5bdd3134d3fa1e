import { readFileSync } from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { MeasuredMemory } from "@hearth-and-keep/engine";

type MemoryRange = { readonly start: number; readonly end: number };

/** Smaller allocations are not worth it. */
const minRangeBytes = 64 * 1024 ** 2;
const blockBytes = 64 * 1024;
/** A block is given back only as part of a run, so that no other allocation next to the range is mistaken for it. */
const minRunBlocks = 16;
/** What is checked without a pause: a few milliseconds. */
const bytesPerTurn = 32 * 1024 ** 2;

/** Observes what is allocated from now on; the function that it returns finds it. */
export function observeAllocations(): () => UnusedMemory {
  const before = listRanges();
  return () => {
    const allocated = listNewRanges(before);
    return new UnusedMemory(allocated.filter(({ start, end }) => end - start >= minRangeBytes));
  };
}

/** Observes what is mapped from now on; the function that it returns tells whether all of a range has been. */
export function observeMappings(): (start: number, bytes: number) => boolean {
  const before = listRanges();
  return (start, bytes) =>
    listNewRanges(before).some((range) => range.start <= start && start + bytes <= range.end);
}

/**
 * Memory that was allocated and cleared, of which much may never be used: llama.cpp clears the cache of every sequence,
 * and clearing occupies it. The kernel is given back those pages that contain only zeros, and provides zeros again when
 * they are used.
 */
export class UnusedMemory {
  #windows: readonly MemoryRange[];

  constructor(ranges: readonly MemoryRange[]) {
    this.#windows = ranges.flatMap(splitIntoWindows);
  }

  /** Gives back what is unused, until that is done or `mayContinue` says that the memory may be written again. */
  async release(mayContinue: () => boolean): Promise<void> {
    if (this.#windows.length === 0) return;
    // Where the library for native calls is not installed, memory stays as it is.
    const native = await loadNativeCalls().catch(() => undefined);
    if (native === undefined) return;
    while (mayContinue()) {
      const [next, ...rest] = this.#windows;
      if (next === undefined) return native.trim();
      this.#windows = rest;
      // Nothing can write to a page between the check and the call, because there is no pause.
      for (const { start, end } of findZeroRuns(next, native)) native.giveBack(start, end - start);
      await nextTurn();
    }
  }
}

/** What the kernel counts for this process; undefined on systems that do not list it. */
export function measureOwnMemory(): MeasuredMemory | undefined {
  if (process.platform !== "linux") return undefined;
  const status = readFileSync("/proc/self/status", "latin1");
  const read = (field: string): number =>
    1024 * Number(new RegExp(`^${field}:\\s+(\\d+) kB`, "mu").exec(status)?.[1] ?? 0);
  return { residentBytes: read("VmRSS"), peakBytes: read("VmHWM") };
}

/** Private memory of this process that no file backs; empty on systems that do not list it. */
function listRanges(): readonly MemoryRange[] {
  if (process.platform !== "linux") return [];
  return readFileSync("/proc/self/maps", "latin1")
    .split("\n")
    .flatMap((line) => {
      const { start, end } =
        /^(?<start>[0-9a-f]+)-(?<end>[0-9a-f]+) rw-p \S+ 00:00 0\s*$/u.exec(line)?.groups ?? {};
      if (start === undefined || end === undefined) return [];
      return [{ start: Number.parseInt(start, 16), end: Number.parseInt(end, 16) }];
    });
}

function listNewRanges(before: readonly MemoryRange[]): readonly MemoryRange[] {
  return listRanges().flatMap((range) => subtractAll(range, before));
}

function subtractAll(range: MemoryRange, others: readonly MemoryRange[]): readonly MemoryRange[] {
  return others.reduce<readonly MemoryRange[]>(
    (parts, other) => parts.flatMap((part) => subtract(part, other)),
    [range],
  );
}

function subtract({ start, end }: MemoryRange, other: MemoryRange): readonly MemoryRange[] {
  const below = { start, end: Math.min(end, other.start) };
  const above = { start: Math.max(start, other.end), end };
  return [below, above].filter((part) => part.start < part.end);
}

function splitIntoWindows({ start, end }: MemoryRange): readonly MemoryRange[] {
  return Array.from({ length: Math.ceil((end - start) / bytesPerTurn) }, (_none, index) => {
    const from = start + index * bytesPerTurn;
    return { start: from, end: Math.min(from + bytesPerTurn, end) };
  });
}

function findZeroRuns(window: MemoryRange, native: NativeCalls): readonly MemoryRange[] {
  const runs: MemoryRange[] = [];
  let runStart = window.start;
  const endRun = (end: number): void => {
    if (end - runStart >= minRunBlocks * blockBytes) runs.push({ start: runStart, end });
  };
  for (let block = window.start; block + blockBytes <= window.end; block += blockBytes) {
    if (native.isZero(block)) continue;
    endRun(block);
    runStart = block + blockBytes;
  }
  endRun(window.end - ((window.end - window.start) % blockBytes));
  return runs;
}

type NativeCalls = {
  readonly isZero: (block: number) => boolean;
  readonly giveBack: (address: number, bytes: number) => void;
  /** Gives back what the allocator keeps for later. */
  readonly trim: () => void;
};

const doNotNeed = 4;

/** Loaded when there is something to release, because a small model needs none of it. */
async function loadNativeCalls(): Promise<NativeCalls> {
  const { default: koffi } = await import("koffi");
  const library = koffi.load(null);
  const compare = library.func("int memcmp(uintptr_t address, const void *other, size_t bytes)");
  const advise = library.func("int madvise(uintptr_t address, size_t bytes, int advice)");
  const trim = library.func("int malloc_trim(size_t kept)");
  const zeros = Buffer.alloc(blockBytes);
  return {
    isZero: (block) => compare(block, zeros, blockBytes) === 0,
    giveBack: (address, bytes) => void advise(address, bytes, doNotNeed),
    trim: () => void trim(0),
  };
}
