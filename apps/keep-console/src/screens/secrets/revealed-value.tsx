import type { SecretValue } from "@hearth-and-keep/vault-contract";
import { useEffect, useState } from "react";
import { type ApiError, request, toApiError } from "../../vault-api/api-client.ts";
import { type RevealTimer, revealSeconds, useRevealTimer } from "./use-reveal-timer.ts";

export type RevealedValue = {
  readonly value: SecretValue | undefined;
  readonly isLoading: boolean;
  readonly error: ApiError | undefined;
  readonly timer: RevealTimer;
  readonly reveal: (path: string) => Promise<void>;
};

/** A value that is fetched on demand and dropped when its reveal timer runs out. */
export function useRevealedValue(): RevealedValue {
  const timer = useRevealTimer();
  const [value, setValue] = useState<SecretValue>();
  const [error, setError] = useState<ApiError>();
  const [isLoading, setIsLoading] = useState(false);
  const isRevealed = timer.secondsLeft !== undefined;
  useEffect(() => {
    if (!isRevealed) setValue(undefined);
  }, [isRevealed]);
  const reveal = async (path: string): Promise<void> => {
    setIsLoading(true);
    setError(undefined);
    try {
      const { body } = await request<SecretValue>(path);
      // The user switched to another tab before the response arrived.
      if (document.hidden) return;
      setValue(body);
      timer.show();
    } catch (failure) {
      setError(toApiError(failure));
    } finally {
      setIsLoading(false);
    }
  };
  return { value: isRevealed ? value : undefined, isLoading, error, timer, reveal };
}

type RemainingTimeProps = { readonly timer: RevealTimer; readonly label: string };

/** Not a live region, so that screen readers do not announce every second. */
export function RemainingTime({ timer: { secondsLeft }, label }: RemainingTimeProps) {
  return (
    <>
      <progress max={revealSeconds} value={secondsLeft} aria-label={label} />
      <span className="muted small">Hides in {secondsLeft} s</span>
    </>
  );
}

export function Countdown({ timer }: { readonly timer: RevealTimer }) {
  if (timer.secondsLeft === undefined) return null;
  return (
    <div className="countdown row">
      <RemainingTime timer={timer} label="Time until the value is hidden" />
      <button type="button" className="button ghost" onClick={timer.hide}>
        Hide
      </button>
    </div>
  );
}
