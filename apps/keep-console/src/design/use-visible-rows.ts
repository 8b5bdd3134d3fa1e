import { type RefObject, useLayoutEffect, useState } from "react";

export type VisibleRows = {
  readonly first: number;
  /** Exclusive. */
  readonly end: number;
  readonly rowHeight: number;
};

/** Rows rendered beyond each edge of the viewport, so that fast scrolling does not show blank rows. */
const overscanRows = 12;
/** The range moves in steps of this many rows, so that scrolling by a pixel does not render again. */
const rangeStep = 4;

/**
 * The range of rows of a long list that is rendered. The page itself scrolls; every row is `--row-height` high, as set
 * on the list.
 */
export function useVisibleRows(list: RefObject<HTMLElement | null>, count: number): VisibleRows {
  const [visible, setVisible] = useState<VisibleRows>({ first: 0, end: 40, rowHeight: 44 });
  useLayoutEffect(() => {
    let rowHeight = 0;
    const update = (): void => {
      if (list.current === null) return;
      const { top } = list.current.getBoundingClientRect();
      const next = rowsBetween(-top, window.innerHeight - top, rowHeight);
      setVisible((last) => (isSameRange(last, next) ? last : next));
    };
    const measure = (): void => {
      if (list.current === null) return;
      rowHeight = Number.parseFloat(getComputedStyle(list.current).getPropertyValue("--row-height")) || 44;
      update();
    };
    measure();
    window.addEventListener("scroll", update, { passive: true });
    window.addEventListener("resize", measure);
    return () => {
      window.removeEventListener("scroll", update);
      window.removeEventListener("resize", measure);
    };
  }, [list, count]);
  return { ...visible, first: Math.min(visible.first, count), end: Math.min(visible.end, count) };
}

function rowsBetween(top: number, bottom: number, rowHeight: number): VisibleRows {
  const first = Math.floor((Math.max(0, top) / rowHeight - overscanRows) / rangeStep) * rangeStep;
  const end = Math.ceil((Math.max(0, bottom) / rowHeight + overscanRows) / rangeStep) * rangeStep;
  return { first: Math.max(0, first), end: Math.max(0, end), rowHeight };
}

function isSameRange(one: VisibleRows, other: VisibleRows): boolean {
  return one.first === other.first && one.end === other.end && one.rowHeight === other.rowHeight;
}
