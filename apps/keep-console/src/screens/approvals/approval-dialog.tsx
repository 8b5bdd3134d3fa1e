import { Dialog, type DialogProps } from "../../design/dialog.tsx";
import { loadLater } from "../../design/load-later.tsx";
import type { Approval } from "./use-approval.ts";

export const ProposeForm = loadLater(() => import("./propose-form.tsx"));

export type ApprovalDialogProps = DialogProps & { readonly vaultId: string; readonly approval: Approval };

/** A dialog whose content makes way for the form that proposes the change, once its request needs an approval. */
export function ApprovalDialog({ vaultId, approval, children, ...dialog }: ApprovalDialogProps) {
  const { proposal, discard } = approval;
  if (proposal === undefined) return <Dialog {...dialog}>{children}</Dialog>;
  return (
    <Dialog {...dialog} title="Propose change">
      <ProposeForm {...{ vaultId, proposal }} onBack={discard} onClose={dialog.onClose} />
    </Dialog>
  );
}
