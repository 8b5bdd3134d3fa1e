import type { ArmedFault, ConnectionFault, Direction } from "./fault.ts";
import { createFaultStep } from "./fault-fixture.ts";
import type { Step } from "./step.ts";
import { splitTurns } from "./turn-splitter.ts";

/** All faults in force on one direction of one connection, in the order they were given. */
export type Shaper = {
  shape(bytes: Buffer, startsTurn: boolean): Step[];
  /** Gives up what it holds back, when it is replaced or the stream ends. */
  release(): Buffer;
};

export type ConnectionSide = { readonly connection: number; readonly direction: Direction };

export function buildShaper(faults: readonly ArmedFault[], place: ConnectionSide): Shaper {
  const here = faults.filter(({ fault }) => strikesAt(fault, place));
  const stages = here.map(createFaultStep);
  const splitter = here.some(({ fault }) => readsHeads.has(fault.kind)) ? splitTurns() : undefined;
  return {
    shape(bytes, startsTurn) {
      let steps: Step[] = splitter?.split(bytes, startsTurn) ?? [
        { type: "forward", bytes, part: "body", startsTurn },
      ];
      for (const stage of stages) {
        steps = steps.flatMap((step) => (step.type === "forward" ? stage(step) : [step]));
      }
      return steps;
    },
    release: () => splitter?.release() ?? Buffer.alloc(0),
  };
}

function strikesAt(fault: ConnectionFault, place: ConnectionSide): boolean {
  const isConnection = fault.connection === undefined || fault.connection === place.connection;
  return isConnection && (fault.direction ?? "to-client") === place.direction;
}

// Only these hold back an incomplete head, so protocols other than HTTP flow untouched through the rest.
const readsHeads: ReadonlySet<ConnectionFault["kind"]> = new Set([
  "truncate",
  "flip-bit",
  "lie-about-length",
]);
