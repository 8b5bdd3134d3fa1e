import type { ArmedFault, ConnectionFault, Direction } from "./fault.ts";
import { createFaultStep } from "./fault-fixture.ts";
import type { Step } from "./step.ts";
import { splitTurns } from "./turn-splitter.ts";

/** All active faults of one direction of one connection, in order. */
export type Shaper = {
  shape(bytes: Buffer, startsTurn: boolean): Step[];
  /** Returns the bytes it holds back, when it is replaced or the stream ends. */
  release(): Buffer;
};

export type ConnectionSide = { readonly connection: number; readonly direction: Direction };

export function buildShaper(faults: readonly ArmedFault[], side: ConnectionSide): Shaper {
  const active = faults.filter(({ fault }) => appliesTo(fault, side));
  const faultSteps = active.map(createFaultStep);
  const splitter = active.some(({ fault }) => readsHeads.has(fault.kind)) ? splitTurns() : undefined;
  return {
    shape(bytes, startsTurn) {
      let steps: Step[] = splitter?.split(bytes, startsTurn) ?? [
        { type: "forward", bytes, part: "body", startsTurn },
      ];
      for (const applyFault of faultSteps) {
        steps = steps.flatMap((step) => (step.type === "forward" ? applyFault(step) : [step]));
      }
      return steps;
    },
    release: () => splitter?.release() ?? Buffer.alloc(0),
  };
}

function appliesTo(fault: ConnectionFault, side: ConnectionSide): boolean {
  const isConnection = fault.connection === undefined || fault.connection === side.connection;
  return isConnection && (fault.direction ?? "to-client") === side.direction;
}

// Only these hold back an incomplete head, so other faults leave non-HTTP protocols untouched.
const readsHeads: ReadonlySet<ConnectionFault["kind"]> = new Set([
  "truncate",
  "flip-bit",
  "lie-about-length",
]);
