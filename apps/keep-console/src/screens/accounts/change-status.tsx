import type { OperatorAccount, Session } from "@hearth-and-keep/vault-contract";
import { ConfirmDialog } from "../../design/confirm-dialog.tsx";
import { useToasts } from "../../design/toasts.tsx";
import { MutationError } from "../../shell/mutation-error.tsx";
import { requiresFreshSignIn } from "../../shell/sign-in-again.tsx";
import { request } from "../../vault-api/api-client.ts";
import { useMutation } from "../../vault-api/use-mutation.ts";
import { invalidate } from "../../vault-api/use-query.ts";
import { accountsPath } from "./accounts-location.ts";

type ChangeStatusDialogProps = {
  readonly session: Session;
  readonly account: OperatorAccount;
  readonly onClose: () => void;
};

export function ChangeStatusDialog({ session, account, onClose }: ChangeStatusDialogProps) {
  const { showToast } = useToasts();
  const { isBusy, error, run } = useMutation();
  const isResuming = account.status === "suspended";
  const change = (): void =>
    void run(async () => {
      const action = isResuming ? "resume" : "suspend";
      await request(`${accountsPath}/${account.id}/${action}`, { method: "POST" });
      invalidate(accountsPath);
      onClose();
      showToast(`${account.display_name} ${isResuming ? "resumed" : "suspended"}`);
    });
  return (
    <ConfirmDialog
      title={`${isResuming ? "Resume" : "Suspend"} ${account.display_name}?`}
      action={isResuming ? "Resume" : "Suspend"}
      mutation={{ isBusy: isBusy || requiresFreshSignIn(error), error: undefined }}
      onConfirm={change}
      onClose={onClose}
    >
      <div className="stack">
        <p>{explain(account)}</p>
        <MutationError session={session} error={error} purpose="change accounts" />
      </div>
    </ConfirmDialog>
  );
}

function explain({ status, kind }: OperatorAccount): string {
  if (status === "suspended")
    return kind === "organisation"
      ? "Its members can use it again, and its tokens work again."
      : "The person can sign in again, and their tokens work again.";
  return kind === "organisation"
    ? "It opens for none of its members, and its tokens are refused, at once. Nothing is deleted; you can resume it at any time."
    : "The person is signed out everywhere, and their tokens are refused, at once. Nothing is deleted; you can resume the account at any time.";
}
