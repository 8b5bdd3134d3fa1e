import { type RefCallback, useCallback } from "react";

/** For the current item of a row that scrolls sideways on narrow screens: shows it when it becomes the current one. */
export function useScrollIntoView(isCurrent: boolean): RefCallback<HTMLElement> {
  return useCallback(
    (element: HTMLElement | null) => {
      if (isCurrent) element?.scrollIntoView({ block: "nearest", inline: "nearest" });
    },
    [isCurrent],
  );
}
