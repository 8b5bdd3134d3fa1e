import { Notice } from "@hearth-and-keep/page-design";
import type { ApiToken } from "@hearth-and-keep/vault-contract";
import { Dialog } from "../../design/dialog.tsx";
import { OneTimeValue } from "../../design/one-time-value.tsx";
import { impliedBy } from "./scopes.ts";

/** Holds the token's value; callers drop it when the dialog closes. */
export type IssuedToken = ApiToken & { readonly value: string };

export type IssuedTokenDialogProps = {
  readonly issued: IssuedToken;
  /** After a rotation: how long the old value keeps working. */
  readonly oldValueNote?: string | undefined;
  readonly onDone: () => void;
};

export function IssuedTokenDialog({ issued, oldValueNote, onDone }: IssuedTokenDialogProps) {
  return (
    // Neither Escape nor a press outside closes it: the value cannot be shown again.
    <Dialog title="Copy your token now" isWide staysOpenOnOutsidePress onClose={() => undefined}>
      <Notice kind="warning">
        This is the only time the token is shown. Keep stores only a hash of it. Store it where your program
        can read it.
      </Notice>
      <OneTimeValue label={`Token “${issued.name}”`} text={issued.value} copyLabel="Copy token" isPrimary />
      {oldValueNote !== undefined && <p>{oldValueNote}</p>}
      <OneTimeValue label="Try it in a terminal" text={curlCommand(issued)} copyLabel="Copy curl command" />
      <div className="dialog-actions">
        <button type="button" className="button" onClick={onDone}>
          Done
        </button>
      </div>
    </Dialog>
  );
}

/** Requests something the token can read: its vaults, or the token itself when it cannot list vaults. */
function curlCommand({ value, scopes }: IssuedToken): string {
  const canReadVaults =
    scopes.includes("vaults:read") || impliedBy("vaults:read", new Set(scopes)) !== undefined;
  const path = canReadVaults ? "/api/secrets/vaults" : "/api/secrets/tokens/self";
  return `curl -H "Authorization: Bearer ${value}" ${window.location.origin}${path}`;
}
