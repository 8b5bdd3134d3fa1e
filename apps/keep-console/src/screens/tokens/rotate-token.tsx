import { ErrorNotice } from "@hearth-and-keep/page-design";
import type { Session } from "@hearth-and-keep/vault-contract";
import { useState } from "react";
import { Dialog, DialogActions } from "../../design/dialog.tsx";
import { SelectField } from "../../design/field.tsx";
import { requiresFreshSignIn, SignInAgain } from "../../shell/sign-in-again.tsx";
import { request } from "../../vault-api/api-client.ts";
import { useMutation } from "../../vault-api/use-mutation.ts";
import { invalidate } from "../../vault-api/use-query.ts";
import type { IssuedToken } from "./issued-token.tsx";
import type { TokenDialogProps } from "./rename-token.tsx";

/** How long the old value stays valid, by seconds. */
const gracePeriods = new Map([
  ["0", { label: "None", note: "The old value no longer works." }],
  ["3600", { label: "1 hour", note: "The old value works for one more hour." }],
  ["86400", { label: "1 day", note: "The old value works for one more day." }],
]);

export type RotateTokenProps = TokenDialogProps & {
  readonly session: Session;
  readonly onIssued: (issued: IssuedToken, oldValueNote: string) => void;
};

export function RotateToken({ token, session, collection, onClose, onIssued }: RotateTokenProps) {
  const [gracePeriod, setGracePeriod] = useState("3600");
  const { error, isBusy, run } = useMutation();
  const rotate = (): void =>
    void run(async () => {
      const { body } = await request<IssuedToken>(`${collection.apiPath}/${token.id}/rotate`, {
        method: "POST",
        body: { grace_seconds: Number(gracePeriod) },
      });
      invalidate(collection.apiPath);
      onIssued(body, gracePeriods.get(gracePeriod)?.note ?? "");
    });
  return (
    <Dialog title={`Rotate “${token.name}”?`} onClose={onClose}>
      <p>Creates a new value, shown once. Name, permissions and restrictions stay the same.</p>
      <SelectField
        label="Grace period for the old value"
        hint="Time to deploy the new value. Choose “None” if the old one may have leaked."
        value={gracePeriod}
        options={[...gracePeriods].map(([value, { label }]) => ({ value, label }))}
        onChange={setGracePeriod}
      />
      {requiresFreshSignIn(error) ? (
        <SignInAgain session={session} purpose="rotate a token" returnTo={collection.href} />
      ) : (
        error !== undefined && <ErrorNotice text={error.message} />
      )}
      <DialogActions>
        <button type="button" className="button primary" disabled={isBusy} onClick={rotate}>
          Rotate
        </button>
      </DialogActions>
    </Dialog>
  );
}
