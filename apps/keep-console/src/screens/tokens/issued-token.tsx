import { CopyButton, Notice } from "@hearth-and-keep/page-design";
import type { ApiToken } from "@hearth-and-keep/vault-contract";
import { Dialog } from "../../design/dialog.tsx";
import { broughtBy } from "./scopes.ts";

/** The only thing on this page that has a token's value; whoever holds it lets it go when the dialog closes. */
export type IssuedToken = ApiToken & { readonly value: string };

export type IssuedTokenDialogProps = {
  readonly issued: IssuedToken;
  /** Said of the value before it, when there is one. */
  readonly oldValue?: string | undefined;
  readonly onDone: () => void;
};

export function IssuedTokenDialog({ issued, oldValue, onDone }: IssuedTokenDialogProps) {
  const line = curlLine(issued);
  return (
    // Neither a press outside nor a stray Escape takes away what cannot be shown again.
    <Dialog title="Copy your token now" isWide staysOnOutsidePress onClose={() => undefined}>
      <Notice kind="warn">
        This is the only time that you see it. Keep stores no more than a hash and cannot show it again. Put
        it where your program finds it, and nowhere else.
      </Notice>
      <Shown label={`Token “${issued.name}”`} text={issued.value} copyLabel="Copy the token" isMain />
      {oldValue !== undefined && <p>{oldValue}</p>}
      <Shown label="Try it in a terminal" text={line} copyLabel="Copy the curl line" />
      <div className="ending">
        <button type="button" className="button" onClick={onDone}>
          I have stored it
        </button>
      </div>
    </Dialog>
  );
}

type ShownProps = {
  readonly label: string;
  readonly text: string;
  readonly copyLabel: string;
  readonly isMain?: boolean;
};

function Shown({ label, text, copyLabel, isMain = false }: ShownProps) {
  return (
    <div className="stack tight">
      <span className="one-line shown-label">{label}</span>
      <div className={isMain ? "shown-once main" : "shown-once"}>
        <code className="breaks">{text}</code>
        <CopyButton text={text} label={copyLabel}>
          Copy
        </CopyButton>
      </div>
    </div>
  );
}

/** Asks for something that the token may see: its vaults, or itself when it sees none. */
function curlLine({ value, scopes }: IssuedToken): string {
  const seesVaults =
    scopes.includes("vaults:read") || broughtBy("vaults:read", new Set(scopes)) !== undefined;
  const path = seesVaults ? "/api/secrets/vaults" : "/api/secrets/tokens/self";
  return `curl -H "Authorization: Bearer ${value}" ${window.location.origin}${path}`;
}
