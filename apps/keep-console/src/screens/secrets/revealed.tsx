import type { SecretValue } from "@hearth-and-keep/vault-contract";
import { useEffect, useState } from "react";
import { ask, type KeepProblem } from "../../vault-api/api-client.ts";
import { asKeepProblem } from "../../vault-api/use-mutation.ts";
import { type Sight, secondsInSight, useSight } from "./use-reveal-timer.ts";

export type Revealed = {
  readonly value: SecretValue | undefined;
  readonly isLoading: boolean;
  readonly problem: KeepProblem | undefined;
  readonly sight: Sight;
  readonly reveal: (path: string) => Promise<void>;
};

/** One value, fetched when it is asked for and forgotten when its time is over. */
export function useRevealed(): Revealed {
  const sight = useSight();
  const [value, setValue] = useState<SecretValue>();
  const [problem, setProblem] = useState<KeepProblem>();
  const [isLoading, setIsLoading] = useState(false);
  const isSeen = sight.secondsLeft !== undefined;
  useEffect(() => {
    if (!isSeen) setValue(undefined);
  }, [isSeen]);
  const reveal = async (path: string): Promise<void> => {
    setIsLoading(true);
    setProblem(undefined);
    try {
      const { body } = await ask<SecretValue>(path);
      // Answered after the person went to another tab: nobody is there to see it.
      if (document.hidden) return;
      setValue(body);
      sight.show();
    } catch (thrown) {
      setProblem(asKeepProblem(thrown));
    } finally {
      setIsLoading(false);
    }
  };
  return { value: isSeen ? value : undefined, isLoading, problem, sight, reveal };
}

/** How long it is still to be seen; told to a screen reader once, not every second. */
export function Countdown({ sight }: { readonly sight: Sight }) {
  if (sight.secondsLeft === undefined) return null;
  return (
    <div className="countdown row">
      <progress max={secondsInSight} value={sight.secondsLeft} aria-label="Time until it is hidden" />
      <span className="quiet small">Hidden in {sight.secondsLeft} s</span>
      <button type="button" className="button bare" onClick={sight.hide}>
        Hide now
      </button>
    </div>
  );
}
