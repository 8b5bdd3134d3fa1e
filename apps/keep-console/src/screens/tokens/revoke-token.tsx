import { Failed, Notice } from "@hearth-and-keep/page-design";
import type { ApiToken } from "@hearth-and-keep/vault-contract";
import { useState } from "react";
import { Dialog, DialogEnding } from "../../design/dialog.tsx";
import { ask, KeepProblem } from "../../vault-api/api-client.ts";
import { useDoing } from "../../vault-api/use-mutation.ts";
import { changed } from "../../vault-api/use-query.ts";
import type { TokenDialogProps } from "./rename-token.tsx";

/** asked → everywhere, or asked → unproven → everywhere: proven is only what every server has confirmed. */
type Outcome = "everywhere" | "unproven";

export function RevokeToken({ token, onClose }: TokenDialogProps) {
  const [outcome, setOutcome] = useState<Outcome>();
  const { problem, isBusy, run } = useDoing();
  const revoke = (): void => void run(async () => setOutcome(await revokeEverywhere(token.id)));
  return (
    <Dialog title={outcome === undefined ? `Revoke “${token.name}”?` : `“${token.name}”`} onClose={onClose}>
      <div className="stack revoking" aria-live="polite">
        {outcome === undefined && (
          <p>
            Programs that use it stop working at once, and tokens that were made with it are revoked too. This
            cannot be undone.
          </p>
        )}
        {outcome === "everywhere" && (
          <Notice kind="good">
            <strong>Revoked everywhere.</strong> Every server has confirmed that it no longer accepts it.
          </Notice>
        )}
        {outcome === "unproven" && (
          <Notice kind="warn">
            <strong>Revoked, but not yet confirmed by every server.</strong> One that has not heard of it may
            accept it for a few more seconds. Check again in a moment.
          </Notice>
        )}
        {problem !== undefined && <Failed text={`It is not revoked. ${problem.message}`} />}
      </div>
      {outcome === undefined ? (
        <DialogEnding>
          <button type="button" className="button bad" disabled={isBusy} onClick={revoke}>
            {isBusy ? "Waiting for every server…" : "Revoke"}
          </button>
        </DialogEnding>
      ) : (
        <div className="ending">
          {outcome === "unproven" && (
            <button type="button" className="button" disabled={isBusy} onClick={revoke}>
              Check again
            </button>
          )}
          <button type="button" className="button main" onClick={onClose}>
            Close
          </button>
        </div>
      )}
    </Dialog>
  );
}

async function revokeEverywhere(id: string): Promise<Outcome> {
  try {
    await ask(`/api/secrets/tokens/${id}?wait=all`, { method: "DELETE" });
    return "everywhere";
  } catch (problem) {
    // The same answer tells of servers that are behind and of a database that is away: the token itself decides.
    if (!(problem instanceof KeepProblem) || problem.status !== 503) throw problem;
    const { body } = await ask<ApiToken>(`/api/secrets/tokens/${id}`).catch(() => ({ body: undefined }));
    if (body === undefined || body.revoked_at === null) throw problem;
    return "unproven";
  } finally {
    changed("/api/secrets/tokens");
  }
}
