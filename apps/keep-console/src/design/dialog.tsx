/**
 * @module
 * What screens of the console are made of besides what both pages share: the parts that two of them could share, and
 * the console's own colours and sizes (`look.css`). Promises that each part works by keyboard and is understood by a
 * screen reader, and that nothing jumps when content comes. Knows nothing of vaults, secrets or accounts.
 * Imported by the shell and by screens.
 */
import { Front, FrontClose, type FrontProps, FrontTitle } from "@hearth-and-keep/page-design";
import type { ReactNode } from "react";

export type DialogProps = Omit<FrontProps, "className"> & {
  readonly title: string;
  readonly isWide?: boolean;
};

export function Dialog({ title, isWide = false, children, ...front }: DialogProps) {
  return (
    <Front {...front} className={isWide ? "dialog wide" : "dialog"}>
      <div className="stack">
        <FrontTitle>{title}</FrontTitle>
        {children}
      </div>
    </Front>
  );
}

/** The last row of a dialog: what it is for at the end, a way out before it. */
export function DialogEnding({ children }: { readonly children?: ReactNode }) {
  return (
    <div className="ending">
      <FrontClose className="button">{children === undefined ? "Close" : "Cancel"}</FrontClose>
      {children}
    </div>
  );
}
