import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import { afterAll, expect, test } from "vitest";

/** One thing that people do with a program, from its start to its end. */
export type Flow = { readonly name: string; readonly run: () => Promise<void> };

export type FlowCounter = {
  /** Runs a flow that CI runs too; its test is the caller's. */
  run(flow: Flow["run"]): Promise<void>;
  /** Makes each flow a test, except in CI. */
  testMore(flows: readonly Flow[]): void;
};

export const flowTimeout = 900_000;

/** Records how many flows of a program have ended. */
export function countFlows(program: string): FlowCounter {
  let [started, ended] = [0, 0];
  afterAll(() => {
    if (started === 0) return;
    const text = `${ended} of ${started} flows of ${program}`;
    const counted = { reached: ended, needed: started };
    recordFigure({ claim: "agents 1", text: `${text} end as their users expect`, counted });
    recordFigure({ claim: "agents 10", text: `${text} end with the settings of hearth launch`, counted });
  });
  const run = async (flow: Flow["run"]): Promise<void> => {
    started += 1;
    await flow();
    ended += 1;
  };
  return {
    run,
    testMore(flows) {
      const chosen = chooseSize({ ci: [], show: flows, nightly: flows });
      const named = chosen.map(({ name, run: flow }) => [name, flow] as const);
      test.for(named)("%s", { timeout: flowTimeout }, async ([, flow]) => {
        await expect(run(flow)).resolves.toBeUndefined();
      });
    },
  };
}
