import { ErrorNotice, Notice, navigate } from "@hearth-and-keep/page-design";
import type { Change, Session, Vault } from "@hearth-and-keep/vault-contract";
import { useToasts } from "../../design/toasts.tsx";
import { MutationError } from "../../shell/mutation-error.tsx";
import { requiresFreshSignIn } from "../../shell/sign-in-again.tsx";
import { type ApiError, request, toApiError } from "../../vault-api/api-client.ts";
import { useMutation } from "../../vault-api/use-mutation.ts";
import { invalidate } from "../../vault-api/use-query.ts";
import { vaultPath, vaultsPath } from "../secrets/api-paths.ts";
import { useAccess } from "../secrets/vault-access.ts";
import { changePath, changesPath } from "./changes-path.ts";
import { describeRefusal, mayDecide } from "./describe-change.ts";

export type DecisionProps = {
  readonly session: Session;
  readonly vault: Vault;
  readonly change: Change;
};

type DecisionKind = "approve" | "reject" | "withdraw";

const decidedText: Readonly<Record<DecisionKind, string>> = {
  approve: "Change approved; it is in effect now",
  reject: "Change rejected",
  withdraw: "Change withdrawn",
};

/** Approve and reject, withdraw, or why the person can do neither. A refusal stays visible when the state changes. */
export function Decision({ session, vault, change }: DecisionProps) {
  const access = useAccess();
  const { showToast } = useToasts();
  const { run, isBusy, error } = useMutation();
  const decide = (kind: DecisionKind): void =>
    void run(async () => {
      try {
        await send(vault.id, change, kind);
      } catch (failure) {
        // What refused it has changed the list or this change.
        if (toApiError(failure).code === "conflict") invalidate(changesPath(vault.id));
        throw failure;
      }
      showToast(decidedText[kind]);
      if (kind === "approve" && change.delete_vault === true) {
        navigate("/secrets");
        invalidate(vaultsPath, "/api/organisations");
      } else invalidate(vaultPath(vault.id));
    });
  const isProposer = change.proposed_by === `person:${session.account.id}`;
  return (
    <>
      {error !== undefined && <DecisionError {...{ session, error }} />}
      {change.state === "pending" && isProposer && (
        <>
          <Notice>You proposed this change, so another person must approve it.</Notice>
          <DecisionButton label="Withdraw" isDisabled={isBusy} onClick={() => decide("withdraw")} />
        </>
      )}
      {change.state === "pending" && !isProposer && !mayDecide(change, access) && (
        <Notice>Only people who may make this change themselves can approve or reject it.</Notice>
      )}
      {change.state === "pending" && !isProposer && mayDecide(change, access) && (
        <div className="row">
          <DecisionButton
            label="Approve"
            isPrimary
            isDisabled={isBusy || requiresFreshSignIn(error)}
            onClick={() => decide("approve")}
          />
          <DecisionButton label="Reject" isDisabled={isBusy} onClick={() => decide("reject")} />
        </div>
      )}
    </>
  );
}

/** An approval names what was reviewed. */
async function send(vaultId: string, { id, fingerprint }: Change, kind: DecisionKind): Promise<void> {
  const path = changePath(vaultId, id);
  if (kind === "withdraw") await request(path, { method: "DELETE" });
  else if (kind === "reject") await request(`${path}/reject`, { method: "POST" });
  else await request(`${path}/approve`, { method: "POST", body: { fingerprint } });
}

type DecisionErrorProps = { readonly session: Session; readonly error: ApiError };

function DecisionError({ session, error }: DecisionErrorProps) {
  if (requiresFreshSignIn(error)) return <MutationError {...{ session, error }} purpose="approve changes" />;
  return <ErrorNotice {...describeRefusal(error)} />;
}

type DecisionButtonProps = {
  readonly label: string;
  readonly isPrimary?: boolean;
  readonly isDisabled: boolean;
  readonly onClick: () => void;
};

function DecisionButton({ label, isPrimary = false, isDisabled, onClick }: DecisionButtonProps) {
  return (
    <div>
      <button
        type="button"
        className={isPrimary ? "button primary" : "button"}
        disabled={isDisabled}
        onClick={onClick}
      >
        {label}
      </button>
    </div>
  );
}
