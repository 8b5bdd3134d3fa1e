/**
 * @module
 * First steps: create a secret, create a token for it, and read the secret with a code sample. New accounts are
 * redirected here once (`redirect-new-account.tsx`); later it is in the account menu. The token exists only in this
 * component and is shown for 30 seconds at a time.
 * Shown by `screens.tsx`; `account/` clears the flag that it was offered.
 */
import { ErrorNotice, Link, Loading, navigate, useLocation } from "@hearth-and-keep/page-design";
import type { SecretMetadata, Session, Vault } from "@hearth-and-keep/vault-contract";
import { useState } from "react";
import { invalidate, useQuery } from "../../vault-api/use-query.ts";
import { secretPath, vaultPath, vaultsPath } from "../secrets/api-paths.ts";
import type { IssuedToken } from "../tokens/issued-token.tsx";
import { ReadStep } from "./read-step.tsx";
import { SecretStep } from "./secret-step.tsx";
import { Step } from "./step.tsx";
import { TokenStep } from "./token-step.tsx";

export default function WelcomeScreen({ session }: { readonly session: Session }) {
  const vaults = useQuery<readonly Vault[]>(`${vaultsPath}?limit=200`);
  // The oldest vault is the personal one.
  const [vault] = vaults.state === "loaded" ? vaults.body : [];
  return (
    <div className="stack welcome">
      <div className="screen-header">
        <div>
          <h1>First steps</h1>
          <p className="muted">Read your first secret from code in two minutes.</p>
        </div>
        <Link className="button" to="/secrets">
          Skip for now
        </Link>
      </div>
      {vaults.state === "failed" && <ErrorNotice text={vaults.error.message} onRetry={vaults.reload} />}
      {vault === undefined && vaults.state !== "failed" && <Loading lines={6} />}
      {vault !== undefined && <Steps session={session} vault={vault} />}
    </div>
  );
}

type StepsProps = { readonly session: Session; readonly vault: Vault };

/** The secret id is in the URL, so that a fresh sign-in returns to the token step; the token is only in this state. */
function Steps({ session, vault }: StepsProps) {
  const secretId = useLocation().query.get("secret") ?? undefined;
  const [created, setCreated] = useState<SecretMetadata>();
  const [issued, setIssued] = useState<IssuedToken>();
  const isCreatedHere = created !== undefined && created.id === secretId;
  const query = useQuery<SecretMetadata>(
    secretId === undefined || isCreatedHere ? undefined : secretPath(vault.id, secretId),
  );
  const loaded = query.state === "loaded" && secretId !== undefined ? query.body : undefined;
  const secret = isCreatedHere ? created : loaded;
  const isMissing = secretId !== undefined && !isCreatedHere && query.state === "failed";
  const continueWith = (chosen: SecretMetadata): void => {
    setCreated(chosen);
    invalidate(vaultPath(vault.id));
    navigate(stepHref(chosen.id));
  };
  const step = secret === undefined ? 1 : issued === undefined ? 2 : 3;
  return (
    <ol className="steps">
      <Step
        number={1}
        title="Add a secret"
        state={step === 1 ? "current" : "done"}
        outcome={
          <p className="muted break-words">
            {secret?.path} is stored in {vault.name}.
          </p>
        }
      >
        {isMissing && <ErrorNotice text="That secret no longer exists. Add another one." />}
        <SecretStep vaultId={vault.id} onCreated={continueWith} />
      </Step>
      <Step
        number={2}
        title="Create a token for your program"
        state={stepState(2, step)}
        outcome={
          <p className="muted break-words">
            “{issued?.name}” can read secrets in {vault.name}, nothing else.
          </p>
        }
      >
        <TokenStep
          session={session}
          vault={vault}
          returnTo={stepHref(secret?.id ?? "")}
          onIssued={setIssued}
        />
      </Step>
      <Step number={3} title="Read it from your program" state={stepState(3, step)}>
        {issued !== undefined && secret !== undefined && (
          <ReadStep vaultId={vault.id} path={secret.path} issued={issued} />
        )}
      </Step>
    </ol>
  );
}

function stepState(step: number, current: number): "upcoming" | "current" | "done" {
  if (step === current) return "current";
  return step < current ? "done" : "upcoming";
}

function stepHref(secretId: string): string {
  return `/welcome?secret=${encodeURIComponent(secretId)}`;
}
