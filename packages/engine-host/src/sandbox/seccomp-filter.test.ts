import { describe, expect, test } from "vitest";
import { buildSeccompFilter, type SeccompOptions } from "./seccomp-filter.ts";

type Call = { readonly number: number; readonly args?: readonly number[]; readonly audit?: number };

const audit = { x64: 0xc000_003e, arm64: 0xc000_00b7 } as const;

/** Runs the filter on one call as the kernel does, and names the result. */
function decide(options: SeccompOptions, { number, args = [], audit: own }: Call): string {
  const filter = buildSeccompFilter(options);
  const record = Buffer.alloc(64);
  record.writeUInt32LE(number, 0);
  record.writeUInt32LE(own ?? audit[options.architecture], 4);
  for (const [index, value] of args.entries()) record.writeBigUInt64LE(BigInt(value), 16 + 8 * index);
  let accumulator = 0;
  for (let at = 0; at < filter.length; at += 8) {
    const code = filter.readUInt16LE(at);
    const k = filter.readUInt32LE(at + 4);
    if (code === 0x20) accumulator = record.readUInt32LE(k);
    else if (code === 0x15) at += 8 * filter.readUInt8(at + (accumulator === k ? 2 : 3));
    // As unsigned: the kernel compares bits.
    else if (code === 0x45) at += 8 * filter.readUInt8(at + ((accumulator & k) === 0 ? 3 : 2));
    else if (code === 0x06) return nameResult(k);
    else throw new Error(`Unknown instruction ${code}`);
  }
  throw new Error("The filter has no result");
}

function nameResult(result: number): string {
  const names: Readonly<Record<number, string>> = {
    0x7fff_0000: "allowed",
    0x8000_0000: "killed",
    0x0005_0001: "not permitted",
    0x0005_0026: "not implemented",
  };
  return names[result] ?? `unknown ${result}`;
}

const x64: SeccompOptions = { architecture: "x64", allowsUnixSockets: false };
const arm64: SeccompOptions = { architecture: "arm64", allowsUnixSockets: false };

describe.each([
  {
    name: "x64",
    options: x64,
    calls: { read: 0, clone: 56, clone3: 435, socket: 41, connect: 42, ioctl: 16 },
  },
  {
    name: "arm64",
    options: arm64,
    calls: { read: 63, clone: 220, clone3: 435, socket: 198, connect: 203, ioctl: 29 },
  },
])("on $name", ({ options, calls }) => {
  test("ordinary calls are allowed", () => {
    expect(decide(options, { number: calls.read })).toBe("allowed");
  });

  test("threads can be started, processes cannot", () => {
    expect(decide(options, { number: calls.clone, args: [0x3d0f00] })).toBe("allowed");
    expect(decide(options, { number: calls.clone, args: [0x1200011] })).toBe("not permitted");
    expect(decide(options, { number: calls.clone3 })).toBe("not implemented");
  });

  test("sockets cannot be created or connected", () => {
    for (const family of [1, 2, 10, 16, 40]) {
      expect(decide(options, { number: calls.socket, args: [family] })).toBe("not permitted");
    }
    expect(decide(options, { number: calls.connect })).toBe("not permitted");
  });

  test("only Unix sockets can be created by an engine that listens on one", () => {
    const listening = { ...options, allowsUnixSockets: true };
    expect(decide(listening, { number: calls.socket, args: [1] })).toBe("allowed");
    expect(decide(listening, { number: calls.socket, args: [2] })).toBe("not permitted");
    expect(decide(listening, { number: calls.connect })).toBe("not permitted");
  });

  test("nothing can be typed into a terminal", () => {
    expect(decide(options, { number: calls.ioctl, args: [1, 0x5412] })).toBe("not permitted");
    expect(decide(options, { number: calls.ioctl, args: [1, 0x5401] })).toBe("allowed");
  });

  test("a call of another processor ends the process", () => {
    expect(decide(options, { number: calls.read, audit: 0x4000_0003 })).toBe("killed");
  });
});

test("a call of the x32 interface ends the process", () => {
  expect(decide(x64, { number: 0x4000_0000 + 59 })).toBe("killed");
});

test.each([
  { call: "fork", number: 57 },
  { call: "vfork", number: 58 },
  { call: "ptrace", number: 101 },
  { call: "process_vm_readv", number: 310 },
  { call: "tkill", number: 200 },
  { call: "mount", number: 165 },
  { call: "unshare", number: 272 },
  { call: "setns", number: 308 },
  { call: "keyctl", number: 250 },
  { call: "bpf", number: 321 },
  { call: "io_uring_setup", number: 425 },
  { call: "open_by_handle_at", number: 304 },
])("$call is not permitted", ({ number }) => {
  expect(decide(x64, { number })).toBe("not permitted");
});

test.each([
  { call: "kill", number: 62 },
  { call: "tgkill", number: 234 },
])("$call reaches only the process itself, unless it has a process namespace of its own", ({ number }) => {
  const alone = { ...x64, onlySignals: 4242 };
  expect(decide(alone, { number, args: [4242, 4243, 6] })).toBe("allowed");
  expect(decide(alone, { number, args: [1, 1, 9] })).toBe("not permitted");
  expect(decide(x64, { number, args: [2, 2, 6] })).toBe("allowed");
});

test.each([
  { call: "prlimit64", number: 302 },
  { call: "sched_setaffinity", number: 203 },
])("$call changes only the caller", ({ number }) => {
  expect(decide(x64, { number, args: [0] })).toBe("allowed");
  expect(decide(x64, { number, args: [1] })).toBe("not permitted");
});
