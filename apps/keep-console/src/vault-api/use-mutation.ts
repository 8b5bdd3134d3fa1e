import { useCallback, useState } from "react";
import { KeepProblem } from "./api-client.ts";

export type Doing = {
  readonly isBusy: boolean;
  readonly problem: KeepProblem | undefined;
  /** Whether it was done; what went wrong is in `problem`. Nothing is begun while something is under way. */
  readonly run: (work: () => Promise<void>) => Promise<boolean>;
  readonly forget: () => void;
};

/** One thing a person asked for, from the press of a button until Keep has answered. */
export function useDoing(): Doing {
  const [isBusy, setIsBusy] = useState(false);
  const [problem, setProblem] = useState<KeepProblem>();
  const run = useCallback(async (work: () => Promise<void>): Promise<boolean> => {
    setIsBusy(true);
    setProblem(undefined);
    try {
      await work();
      return true;
    } catch (thrown) {
      setProblem(asKeepProblem(thrown));
      return false;
    } finally {
      setIsBusy(false);
    }
  }, []);
  const forget = useCallback(() => setProblem(undefined), []);
  return { isBusy, problem, run, forget };
}

export function asKeepProblem(thrown: unknown): KeepProblem {
  if (thrown instanceof KeepProblem) return thrown;
  return new KeepProblem(0, { title: "Something went wrong on this page", code: "internal" });
}
