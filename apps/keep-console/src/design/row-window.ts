import { type RefObject, useLayoutEffect, useState } from "react";

export type RowWindow = {
  readonly first: number;
  /** The one after the last that is drawn. */
  readonly end: number;
  readonly rowHeight: number;
};

/** Rows beyond each edge of the screen: what a quick hand scrolls past before the next are drawn. */
const spareRows = 12;
const step = 4;

/**
 * Which rows of a long list are in sight, so that the others need not be drawn. The page itself scrolls; every row is as
 * high as `--row-height` says where the list stands.
 */
export function useRowWindow(list: RefObject<HTMLElement | null>, count: number): RowWindow {
  const [shown, setShown] = useState<RowWindow>({ first: 0, end: 40, rowHeight: 44 });
  useLayoutEffect(() => {
    let rowHeight = 0;
    const look = (): void => {
      if (list.current === null) return;
      const { top } = list.current.getBoundingClientRect();
      const next = rowsBetween(-top, window.innerHeight - top, rowHeight);
      setShown((last) => (isSame(last, next) ? last : next));
    };
    const measure = (): void => {
      if (list.current === null) return;
      rowHeight = Number.parseFloat(getComputedStyle(list.current).getPropertyValue("--row-height")) || 44;
      look();
    };
    measure();
    window.addEventListener("scroll", look, { passive: true });
    window.addEventListener("resize", measure);
    return () => {
      window.removeEventListener("scroll", look);
      window.removeEventListener("resize", measure);
    };
  }, [list, count]);
  return { ...shown, first: Math.min(shown.first, count), end: Math.min(shown.end, count) };
}

/** In steps, so that not every pixel draws anew. */
function rowsBetween(top: number, bottom: number, rowHeight: number): RowWindow {
  const first = Math.floor((Math.max(0, top) / rowHeight - spareRows) / step) * step;
  const end = Math.ceil((Math.max(0, bottom) / rowHeight + spareRows) / step) * step;
  return { first: Math.max(0, first), end: Math.max(0, end), rowHeight };
}

function isSame(one: RowWindow, other: RowWindow): boolean {
  return one.first === other.first && one.end === other.end && one.rowHeight === other.rowHeight;
}
