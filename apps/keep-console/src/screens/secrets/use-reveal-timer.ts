import { useCallback, useEffect, useState } from "react";

export const secondsInSight = 30;

export type Sight = {
  /** Undefined while nothing is to be seen. */
  readonly secondsLeft: number | undefined;
  /** From now on for the whole time; again to begin it anew. */
  readonly show: () => void;
  readonly hide: () => void;
};

/**
 * How long a value stays to be seen: 30 seconds, and never in a tab that is not looked at. What is out of sight is out of
 * the page as well; who calls draws nothing of it then.
 */
export function useSight(isShownAtFirst = false): Sight {
  const [until, setUntil] = useState(isShownAtFirst ? Date.now() + secondsInSight * 1000 : 0);
  const [now, setNow] = useState(Date.now());
  const hide = useCallback(() => setUntil(0), []);
  const show = useCallback(() => {
    setNow(Date.now());
    setUntil(Date.now() + secondsInSight * 1000);
  }, []);
  useEffect(() => {
    if (until === 0) return undefined;
    const timer = setInterval(() => {
      setNow(Date.now());
      if (Date.now() >= until) setUntil(0);
    }, 250);
    const look = (): void => {
      if (document.hidden) setUntil(0);
    };
    document.addEventListener("visibilitychange", look);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", look);
    };
  }, [until]);
  const secondsLeft = until > now ? Math.ceil((until - now) / 1000) : undefined;
  return {
    secondsLeft: secondsLeft === undefined ? undefined : Math.min(secondsLeft, secondsInSight),
    show,
    hide,
  };
}
