import { Failed } from "@hearth-and-keep/page-design";
import type { ReactNode } from "react";
import type { Doing } from "../vault-api/use-mutation.ts";
import { Dialog, DialogEnding } from "./dialog.tsx";

export type ConfirmProps = {
  /** A question: what is about to be done, and to what. */
  readonly title: string;
  readonly action: string;
  readonly doing: Pick<Doing, "isBusy" | "problem">;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
  /** What will happen, and whether it can be undone. */
  readonly children: ReactNode;
};

/** Asks once before something is taken away. */
export function Confirm({ title, action, doing, onConfirm, onClose, children }: ConfirmProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      <div className="breaks">{children}</div>
      {doing.problem !== undefined && <Failed text={doing.problem.message} />}
      <DialogEnding>
        <button type="button" className="button bad" disabled={doing.isBusy} onClick={onConfirm}>
          {action}
        </button>
      </DialogEnding>
    </Dialog>
  );
}
