import { Failed } from "@hearth-and-keep/page-design";
import type { Session } from "@hearth-and-keep/vault-contract";
import { useState } from "react";
import { Dialog, DialogEnding } from "../../design/dialog.tsx";
import { SelectField } from "../../design/field.tsx";
import { needsFreshSignIn, SignInAgain } from "../../shell/sign-in-again.tsx";
import { ask } from "../../vault-api/api-client.ts";
import { useDoing } from "../../vault-api/use-mutation.ts";
import { changed } from "../../vault-api/use-query.ts";
import type { IssuedToken } from "./issued-token.tsx";
import type { TokenDialogProps } from "./rename-token.tsx";

/** How long the old value holds, by its seconds. */
const graces = new Map([
  ["0", { label: "Not at all", afterwards: "The old value has stopped working." }],
  ["3600", { label: "For 1 hour", afterwards: "The old value works for one more hour." }],
  ["86400", { label: "For 1 day", afterwards: "The old value works for one more day." }],
]);

export type RotateTokenProps = TokenDialogProps & {
  readonly session: Session;
  readonly onIssued: (issued: IssuedToken, oldValue: string) => void;
};

export function RotateToken({ token, session, onClose, onIssued }: RotateTokenProps) {
  const [grace, setGrace] = useState("3600");
  const { problem, isBusy, run } = useDoing();
  const rotate = (): void =>
    void run(async () => {
      const { body } = await ask<IssuedToken>(`/api/secrets/tokens/${token.id}/rotate`, {
        method: "POST",
        body: { grace_seconds: Number(grace) },
      });
      changed("/api/secrets/tokens");
      onIssued(body, graces.get(grace)?.afterwards ?? "");
    });
  return (
    <Dialog title={`Rotate “${token.name}”?`} onClose={onClose}>
      <p>It gets a new value, shown once. Its name, and what it may do, stay as they are.</p>
      <SelectField
        label="The old value goes on working"
        hint="Time to put the new one in place. Choose “Not at all” when somebody may have seen it."
        value={grace}
        choices={[...graces].map(([value, { label }]) => ({ value, label }))}
        onChoose={setGrace}
      />
      {needsFreshSignIn(problem) ? (
        <SignInAgain session={session} purpose="rotate a token" returnTo="/secrets/tokens" />
      ) : (
        problem !== undefined && <Failed text={problem.message} />
      )}
      <DialogEnding>
        <button type="button" className="button main" disabled={isBusy} onClick={rotate}>
          Rotate
        </button>
      </DialogEnding>
    </Dialog>
  );
}
