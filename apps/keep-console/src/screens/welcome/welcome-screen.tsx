/**
 * @module
 * The first minutes: a secret, a token for it, and the lines with which a program reads it. Offered once to whoever is
 * new (`lead-new-people.tsx`), and there for everybody. Promises that the token is kept by this page alone, and drawn
 * on it for 30 seconds at a time.
 * Shown by `screens.tsx`; `account/` forgets that it was offered.
 */
import { Failed, go, Link, Loading, useAddress } from "@hearth-and-keep/page-design";
import type { SecretMetadata, Session, Vault } from "@hearth-and-keep/vault-contract";
import { useState } from "react";
import { changed, useAnswer } from "../../vault-api/use-query.ts";
import { secretPath, vaultPath, vaultsPath } from "../secrets/api-paths.ts";
import type { IssuedToken } from "../tokens/issued-token.tsx";
import { FirstLines } from "./first-lines.tsx";
import { FirstSecret } from "./first-secret.tsx";
import { FirstToken } from "./first-token.tsx";
import { Step } from "./step.tsx";

export default function WelcomeScreen({ session }: { readonly session: Session }) {
  const vaults = useAnswer<readonly Vault[]>(`${vaultsPath}?limit=200`);
  // The oldest is the personal one.
  const [vault] = vaults.state === "there" ? vaults.body : [];
  return (
    <div className="stack welcome">
      <div className="screen-head">
        <div>
          <h1>First steps</h1>
          <p className="quiet">In two minutes a program of yours reads a secret from here.</p>
        </div>
        <Link className="button" to="/secrets">
          Skip for now
        </Link>
      </div>
      {vaults.state === "failed" && <Failed text={vaults.problem.message} onRetry={vaults.reload} />}
      {vault === undefined && vaults.state !== "failed" && <Loading lines={6} />}
      {vault !== undefined && <Steps session={session} vault={vault} />}
    </div>
  );
}

type StepsProps = { readonly session: Session; readonly vault: Vault };

/** The secret is in the address, so that a new sign-in comes back to its step; the token is nowhere but here. */
function Steps({ session, vault }: StepsProps) {
  const secretId = useAddress().query.get("secret") ?? undefined;
  const [made, setMade] = useState<SecretMetadata>();
  const [issued, setIssued] = useState<IssuedToken>();
  const isKnown = made !== undefined && made.id === secretId;
  const asked = useAnswer<SecretMetadata>(
    secretId === undefined || isKnown ? undefined : secretPath(vault.id, secretId),
  );
  const secret = isKnown ? made : asked.state === "there" && secretId !== undefined ? asked.body : undefined;
  const isMissing = secretId !== undefined && !isKnown && asked.state === "failed";
  const take = (chosen: SecretMetadata): void => {
    setMade(chosen);
    changed(vaultPath(vault.id));
    go(addressOf(chosen.id));
  };
  const here = secret === undefined ? 1 : issued === undefined ? 2 : 3;
  return (
    <ol className="steps">
      <Step
        number={1}
        title="Add a secret"
        state={here === 1 ? "here" : "done"}
        outcome={
          <p className="quiet breaks">
            {secret?.path} is stored in {vault.name}.
          </p>
        }
      >
        {isMissing && <Failed text="That secret is not there any more. Add another one." />}
        <FirstSecret vaultId={vault.id} onMade={take} />
      </Step>
      <Step
        number={2}
        title="Make a token for your program"
        state={stateOf(2, here)}
        outcome={
          <p className="quiet breaks">
            “{issued?.name}” reads secrets of {vault.name}, and no more.
          </p>
        }
      >
        <FirstToken
          session={session}
          vault={vault}
          address={addressOf(secret?.id ?? "")}
          onIssued={setIssued}
        />
      </Step>
      <Step number={3} title="Read it from your program" state={stateOf(3, here)}>
        {issued !== undefined && secret !== undefined && (
          <FirstLines vaultId={vault.id} path={secret.path} issued={issued} />
        )}
      </Step>
    </ol>
  );
}

function stateOf(number: number, here: number): "ahead" | "here" | "done" {
  if (number === here) return "here";
  return number < here ? "done" : "ahead";
}

function addressOf(secretId: string): string {
  return `/welcome?secret=${encodeURIComponent(secretId)}`;
}
