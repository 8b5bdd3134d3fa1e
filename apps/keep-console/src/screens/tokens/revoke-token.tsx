import { ErrorNotice, Notice } from "@hearth-and-keep/page-design";
import type { ApiToken } from "@hearth-and-keep/vault-contract";
import { useState } from "react";
import { Dialog, DialogActions } from "../../design/dialog.tsx";
import { ApiError, request } from "../../vault-api/api-client.ts";
import { useMutation } from "../../vault-api/use-mutation.ts";
import { invalidate } from "../../vault-api/use-query.ts";
import type { TokenDialogProps } from "./rename-token.tsx";
import type { TokenCollection } from "./token-collection.ts";

/** undefined → confirmed, or undefined → unconfirmed → confirmed: confirmed once every server has acknowledged it. */
type RevocationStatus = "confirmed" | "unconfirmed";

export function RevokeToken({ collection, token, onClose }: TokenDialogProps) {
  const [status, setStatus] = useState<RevocationStatus>();
  const { error, isBusy, run } = useMutation();
  const revoke = (): void => void run(async () => setStatus(await revokeEverywhere(collection, token.id)));
  return (
    <Dialog title={status === undefined ? `Revoke “${token.name}”?` : `“${token.name}”`} onClose={onClose}>
      <div className="stack revoke-status" aria-live="polite">
        {status === undefined && (
          <p>
            Programs that use this token stop working immediately, and tokens created with it are revoked too.
            This cannot be undone.
          </p>
        )}
        {status === "confirmed" && (
          <Notice kind="success">
            <strong>Revoked on all servers.</strong> No server accepts this token anymore.
          </Notice>
        )}
        {status === "unconfirmed" && (
          <Notice kind="warning">
            <strong>Revoked, but not yet confirmed by every server.</strong> A server that has not responded
            may accept the token for a few more seconds. Check again in a moment.
          </Notice>
        )}
        {error !== undefined && <ErrorNotice text={`The token is not revoked. ${error.message}`} />}
      </div>
      {status === undefined ? (
        <DialogActions>
          <button type="button" className="button danger" disabled={isBusy} onClick={revoke}>
            {isBusy ? "Revoking…" : "Revoke"}
          </button>
        </DialogActions>
      ) : (
        <div className="dialog-actions">
          {status === "unconfirmed" && (
            <button type="button" className="button" disabled={isBusy} onClick={revoke}>
              Check again
            </button>
          )}
          <button type="button" className="button primary" onClick={onClose}>
            Close
          </button>
        </div>
      )}
    </Dialog>
  );
}

async function revokeEverywhere({ apiPath }: TokenCollection, id: string): Promise<RevocationStatus> {
  try {
    await request(`${apiPath}/${id}?wait=all`, { method: "DELETE" });
    return "confirmed";
  } catch (error) {
    // "unavailable" covers both servers that lag behind and an unreachable database, so the token itself is checked.
    if (!(error instanceof ApiError) || error.code !== "unavailable") throw error;
    const { body } = await request<ApiToken>(`${apiPath}/${id}`).catch(() => ({ body: undefined }));
    if (body === undefined || body.revoked_at === null) throw error;
    return "unconfirmed";
  } finally {
    invalidate(apiPath);
  }
}
