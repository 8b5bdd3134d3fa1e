import { useCallback, useEffect, useState } from "react";

export const revealSeconds = 30;

export type RevealTimer = {
  /** Undefined while hidden. */
  readonly secondsLeft: number | undefined;
  /** Starts the full time, also when it is already running. */
  readonly show: () => void;
  readonly hide: () => void;
};

/**
 * Limits how long a value is shown: 30 seconds, and only while the tab is visible. While `secondsLeft` is undefined the
 * caller must not render the value at all.
 */
export function useRevealTimer(startsShown = false): RevealTimer {
  const [until, setUntil] = useState(startsShown ? Date.now() + revealSeconds * 1000 : 0);
  const [now, setNow] = useState(Date.now());
  const hide = useCallback(() => setUntil(0), []);
  const show = useCallback(() => {
    setNow(Date.now());
    setUntil(Date.now() + revealSeconds * 1000);
  }, []);
  useEffect(() => {
    if (until === 0) return undefined;
    const interval = setInterval(() => {
      setNow(Date.now());
      if (Date.now() >= until) setUntil(0);
    }, 250);
    const onVisibilityChange = (): void => {
      if (document.hidden) setUntil(0);
    };
    document.addEventListener("visibilitychange", onVisibilityChange);
    return () => {
      clearInterval(interval);
      document.removeEventListener("visibilitychange", onVisibilityChange);
    };
  }, [until]);
  const secondsLeft = until > now ? Math.ceil((until - now) / 1000) : undefined;
  return {
    secondsLeft: secondsLeft === undefined ? undefined : Math.min(secondsLeft, revealSeconds),
    show,
    hide,
  };
}
