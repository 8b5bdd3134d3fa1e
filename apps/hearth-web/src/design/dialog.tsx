import { CloseIcon, Front, FrontClose, type FrontProps, FrontTitle } from "@hearth-and-keep/page-design";
import type { ReactNode } from "react";

export type DialogProps = Pick<FrontProps, "onClose" | "children"> & {
  readonly title: string;
  readonly shape?: "plain" | "wide" | "side";
  /** What it is for, at the end of its last row. */
  readonly action?: ReactNode;
};

export function Dialog({ title, onClose, shape = "plain", children, action }: DialogProps) {
  return (
    <Front className={`dialog ${shape}`} onClose={onClose}>
      <div className="dialog-head">
        <FrontTitle>{title}</FrontTitle>
        <FrontClose className="button bare square" aria-label="Close">
          <CloseIcon />
        </FrontClose>
      </div>
      <div className="dialog-body">{children}</div>
      {action !== undefined && (
        <div className="dialog-ending">
          <FrontClose className="button">Cancel</FrontClose>
          {action}
        </div>
      )}
    </Front>
  );
}
