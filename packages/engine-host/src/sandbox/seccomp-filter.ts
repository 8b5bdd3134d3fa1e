import {
  type FilteredArchitecture,
  forbiddenNumbers,
  type InspectedCall,
  inspectedNumber,
} from "./syscall-numbers.ts";

export type SeccompOptions = {
  readonly architecture: FilteredArchitecture;
  /** Whether it can create Unix sockets, to listen on one; it can never connect. */
  readonly allowsUnixSockets: boolean;
  /** The one process it can signal, itself; absent in a process namespace of its own. */
  readonly onlySignals?: number;
};

/** One instruction of the kernel's packet filter language, in which seccomp filters are written. */
type Instruction = { readonly code: number; readonly k: number; readonly jt?: number; readonly jf?: number };

const codes = { load: 0x20, jumpIfEqual: 0x15, jumpIfAnyBit: 0x45, return: 0x06 } as const;
/** Offsets in the record that the kernel passes to the filter. */
const offsets = { number: 0, architecture: 4, firstArgument: 16 } as const;
const results = { kill: 0x8000_0000, error: 0x0005_0000, allow: 0x7fff_0000 } as const;
const errors = { notPermitted: 1, notImplemented: 38 } as const;

const auditArchitectures = { x64: 0xc000_003e, arm64: 0xc000_00b7 } as const;
/** Set in the number of a call of the x32 interface, whose calls would bypass the list. */
const x32Bit = 0x4000_0000;
const threadFlag = 0x0001_0000;
const unixFamily = 1;
/** Requests that type into a terminal as if a person did. */
const terminalRequests = [0x5412, 0x541c];

const allow: Instruction = { code: codes.return, k: results.allow };
const deny: Instruction = { code: codes.return, k: results.error + errors.notPermitted };
const kill: Instruction = { code: codes.return, k: results.kill };
/** The C library then uses `clone`, whose flags a filter can read. */
const pretendMissing: Instruction = { code: codes.return, k: results.error + errors.notImplemented };

/**
 * A seccomp filter for a process that computes, reads its files and writes to the sockets it was started with: no new
 * processes, no connections, no signals to others, no namespaces or mounts. Everything else is allowed, because engines
 * and GPU drivers use many calls. Returns the instructions as the kernel reads them.
 */
export function buildSeccompFilter(options: SeccompOptions): Buffer {
  const { architecture } = options;
  const program = [
    load(offsets.architecture),
    ...unlessEqual(auditArchitectures[architecture], [kill]),
    load(offsets.number),
    ...(architecture === "x64" ? ifAnyBit(x32Bit, [kill]) : []),
    ...forbiddenNumbers(architecture).flatMap((number) => ifEqual(number, [deny])),
    ...inspections(options).flatMap(([call, instructions]) =>
      ifEqual(inspectedNumber(call, architecture), instructions),
    ),
    allow,
  ];
  return encode(program);
}

function inspections({
  allowsUnixSockets,
  onlySignals,
}: SeccompOptions): readonly (readonly [InspectedCall, readonly Instruction[]])[] {
  // A program that handles a fatal signal ends itself by sending it again; the C library aborts in the same way.
  const signalSelf =
    onlySignals === undefined ? [allow] : [loadArgument(0), ...ifEqual(onlySignals, [allow]), deny];
  return [
    ["clone", [loadArgument(0), ...ifAnyBit(threadFlag, [allow]), deny]],
    ["clone3", [pretendMissing]],
    ["socket", allowsUnixSockets ? [loadArgument(0), ...ifEqual(unixFamily, [allow]), deny] : [deny]],
    ["ioctl", [loadArgument(1), ...terminalRequests.flatMap((request) => ifEqual(request, [deny])), allow]],
    ["kill", signalSelf],
    ["tgkill", signalSelf],
    // Process 0 is the caller.
    ["prlimit64", [loadArgument(0), ...ifEqual(0, [allow]), deny]],
    ["sched_setaffinity", [loadArgument(0), ...ifEqual(0, [allow]), deny]],
  ];
}

function load(offset: number): Instruction {
  return { code: codes.load, k: offset };
}

/** The lower half of an argument; the calls above take 32-bit arguments, of which the kernel ignores the rest. */
function loadArgument(index: number): Instruction {
  return load(offsets.firstArgument + 8 * index);
}

function ifEqual(value: number, then: readonly Instruction[]): readonly Instruction[] {
  return [{ code: codes.jumpIfEqual, k: value, jf: then.length }, ...then];
}

function unlessEqual(value: number, then: readonly Instruction[]): readonly Instruction[] {
  return [{ code: codes.jumpIfEqual, k: value, jt: then.length }, ...then];
}

function ifAnyBit(bits: number, then: readonly Instruction[]): readonly Instruction[] {
  return [{ code: codes.jumpIfAnyBit, k: bits, jf: then.length }, ...then];
}

const instructionBytes = 8;

function encode(program: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(program.length * instructionBytes);
  for (const [index, { code, jt = 0, jf = 0, k }] of program.entries()) {
    const at = index * instructionBytes;
    bytes.writeUInt16LE(code, at);
    bytes.writeUInt8(jt, at + 2);
    bytes.writeUInt8(jf, at + 3);
    bytes.writeUInt32LE(k, at + 4);
  }
  return bytes;
}
