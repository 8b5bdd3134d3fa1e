import { ErrorNotice, Link, Loading, Notice } from "@hearth-and-keep/page-design";
import type { Organisation, Session, VaultDetail } from "@hearth-and-keep/vault-contract";
import { useState } from "react";
import { ConfirmByName } from "../../design/confirm-by-name.tsx";
import { Dialog, DialogActions } from "../../design/dialog.tsx";
import { SelectField } from "../../design/field.tsx";
import { useToasts } from "../../design/toasts.tsx";
import { MutationError } from "../../shell/mutation-error.tsx";
import { requiresFreshSignIn } from "../../shell/sign-in-again.tsx";
import { type ApiError, request } from "../../vault-api/api-client.ts";
import { useMutation } from "../../vault-api/use-mutation.ts";
import { invalidate, useQuery } from "../../vault-api/use-query.ts";
import { vaultPath, vaultsPath } from "./api-paths.ts";
import { useAccess } from "./vault-access.ts";

export type TransferVaultProps = {
  readonly session: Session;
  readonly vault: VaultDetail;
  readonly onTransferred: () => void;
  readonly onClose: () => void;
};

type OrganisationList = { readonly items: readonly Organisation[] };

type Target = { readonly value: string; readonly label: string };

/** Moves a vault to an organisation that the person owns, or back to their own account. */
export function TransferVault(props: TransferVaultProps) {
  const { session, vault, onClose } = props;
  const { organisationId } = useAccess();
  const organisations = useQuery<OrganisationList>("/api/organisations");
  const owned = organisations.state === "loaded" ? organisations.body.items.filter(isOwned) : [];
  const targets = [
    ...(organisationId === undefined ? [] : [{ value: session.account.id, label: "Your own account" }]),
    ...owned.filter(({ id }) => id !== organisationId).map(({ id, name }) => ({ value: id, label: name })),
  ];
  return (
    <Dialog title={`Transfer ${vault.name}`} onClose={onClose}>
      {organisations.state === "loading" && <Loading lines={3} label="Loading organisations" />}
      {organisations.state === "failed" && (
        <ErrorNotice text={organisations.error.message} onRetry={organisations.reload} />
      )}
      {organisations.state === "loaded" && <TransferContent {...props} targets={targets} />}
    </Dialog>
  );
}

function isOwned({ role }: Organisation): boolean {
  return role === "owner";
}

type TransferContentProps = TransferVaultProps & { readonly targets: readonly Target[] };

function TransferContent(props: TransferContentProps) {
  const { vault, targets } = props;
  if (vault.protected_paths.length > 0) {
    return (
      <>
        <Notice>
          This vault has protected paths. Remove them in the vault settings, which another person has to
          approve. Then you can transfer it.
        </Notice>
        <DialogActions />
      </>
    );
  }
  if (targets.length === 0) {
    return (
      <>
        <Notice>
          You can transfer a vault to an organisation that you own.{" "}
          <Link to="/organisations">Create an organisation</Link> first, or ask an owner of one to make you an
          owner.
        </Notice>
        <DialogActions />
      </>
    );
  }
  return <TransferForm {...props} />;
}

function TransferForm({ session, vault, targets, onTransferred }: TransferContentProps) {
  const [chosen, setChosen] = useState(targets.length === 1 ? targets[0] : undefined);
  const [isMissing, setIsMissing] = useState(false);
  const { isBusy, error, run } = useMutation();
  const { showToast } = useToasts();
  const transfer = async ({ value, label }: Target): Promise<void> => {
    const body = { to: value };
    await request(`${vaultPath(vault.id)}/transfer`, { method: "POST", body, revision: vault.revision });
    invalidate(vaultsPath, "/api/organisations");
    showToast(`${vault.name} transferred to ${value === session.account.id ? "your own account" : label}`);
    onTransferred();
  };
  const confirm = (): void => {
    setIsMissing(chosen === undefined);
    if (chosen !== undefined) void run(() => transfer(chosen));
  };
  return (
    <>
      <TransferEffects />
      <ConfirmByName
        name={vault.name}
        action="Transfer vault"
        busyAction="Transferring…"
        isBusy={isBusy}
        isBlocked={requiresFreshSignIn(error)}
        onConfirm={confirm}
      >
        <SelectField
          label="Transfer to"
          hint="Your own account, or an organisation that you own."
          value={chosen?.value ?? ""}
          error={isMissing && chosen === undefined ? "Choose an account" : undefined}
          options={[...(targets.length === 1 ? [] : [{ value: "", label: "Choose…" }]), ...targets]}
          onChange={(value) => setChosen(targets.find((target) => target.value === value))}
        />
      </ConfirmByName>
      <TransferError session={session} error={error} />
    </>
  );
}

/** What stays, and what ends. */
function TransferEffects() {
  const isShared = useAccess().organisationId !== undefined;
  return (
    <>
      <p>
        The vault keeps its id, its secrets with all versions, its folders and its settings. You manage it
        afterwards; in an organisation, all owners can grant access to it. These end at once, and do not
        return if you transfer the vault back:
      </p>
      <ul className="bullets">
        {isShared && <li>The access of everyone else: all that members and teams were granted in it</li>}
        <li>
          The access of tokens and trust rules. Those for this vault alone are revoked or deleted, and
          programs that use them stop working
        </li>
        {isShared && <li>The list of decided changes</li>}
        <li>
          Its audit log. A new one begins, and earlier records stay with{" "}
          {isShared ? "the organisation" : "your account"}, where they can be verified
        </li>
      </ul>
    </>
  );
}

type Advice = { readonly text?: string; readonly nextStep: string };

/** What to do about a refusal; for others the server's text says it. */
const advice: Partial<Record<ApiError["code"], Advice>> = {
  precondition_failed: {
    text: "The vault changed in the meantime. Nothing was transferred.",
    nextStep: "Close the settings, open them again and check what you transfer.",
  },
  validation_failed: {
    text: "You are not an owner of this organisation any more.",
    nextStep: "Choose another account, or ask an owner there.",
  },
  role_required: { nextStep: "Only owners of the organisation can transfer its vaults. Ask one of them." },
  quota_exceeded: { nextStep: "Delete what is not needed in the other account, or choose another one." },
  unavailable: { nextStep: "Reload the page to see where the vault is. It is never transferred in part." },
};

type TransferErrorProps = Pick<TransferVaultProps, "session"> & { readonly error: ApiError | undefined };

function TransferError({ session, error }: TransferErrorProps) {
  const found = error === undefined ? undefined : advice[error.code];
  if (error === undefined || found === undefined)
    return <MutationError session={session} error={error} purpose="transfer vaults" />;
  return <ErrorNotice text={found.text ?? error.message} nextStep={found.nextStep} />;
}
