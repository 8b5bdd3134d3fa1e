import { ErrorNotice, Loading } from "@hearth-and-keep/page-design";
import type { PromotionReport, Session } from "@hearth-and-keep/vault-contract";
import { useCallback, useEffect, useState } from "react";
import { DialogActions } from "../../design/dialog.tsx";
import { CheckboxField } from "../../design/field.tsx";
import { useToasts } from "../../design/toasts.tsx";
import { MutationError } from "../../shell/mutation-error.tsx";
import { request } from "../../vault-api/api-client.ts";
import { useMutation } from "../../vault-api/use-mutation.ts";
import { ApprovalDialog } from "../approvals/approval-dialog.tsx";
import { useApproval } from "../approvals/use-approval.ts";
import { vaultPath } from "../secrets/api-paths.ts";
import { isPreconditionFailed } from "../secrets/save-secret.ts";
import { proposePromotion } from "./propose-promotion.ts";

export type PromoteDialogProps = {
  readonly session: Session;
  readonly vaultId: string;
  /** The environment to promote from. */
  readonly left: string;
  readonly right: string;
  readonly onPromoted: () => void;
  readonly onClose: () => void;
};

/** A dry run shows what would change; the promotion then requires that the vault has not changed since. */
export function PromoteDialog(props: PromoteDialogProps) {
  const { session, left, right, onPromoted, onClose } = props;
  const { report, skipped, toggle, error, isBusy, approval, preview, promote } = usePromotion(props);
  const { showToast } = useToasts();
  const paths = report === undefined ? [] : [...report.created, ...report.changed];
  const chosen = paths.filter((path) => !skipped.has(path));
  const confirm = async (): Promise<void> => {
    const count = await promote(chosen);
    if (count === undefined) return;
    showToast(`Promoted ${count === 1 ? "1 secret" : `${count} secrets`} to ${right}`);
    onPromoted();
  };
  return (
    <ApprovalDialog
      vaultId={props.vaultId}
      approval={approval}
      title={`Promote ${left} to ${right}`}
      isWide
      onClose={onClose}
    >
      {report === undefined && error === undefined && (
        <Loading lines={3} label="Checking what would change" />
      )}
      {report !== undefined && <PromotionPreview {...{ report, right, skipped, toggle }} />}
      {isPreconditionFailed(error) ? (
        <ErrorNotice
          text="The vault changed since the preview. Nothing was promoted."
          nextStep="Try again to see what would change now."
          onRetry={preview}
        />
      ) : (
        <MutationError session={session} error={error} purpose="promote values" />
      )}
      <DialogActions>
        <button
          type="button"
          className="button primary"
          disabled={isBusy || chosen.length === 0}
          onClick={() => void confirm()}
        >
          {chosen.length === 1 ? "Promote 1 secret" : `Promote ${chosen.length} secrets`}
        </button>
      </DialogActions>
    </ApprovalDialog>
  );
}

function usePromotion({ vaultId, left, right }: PromoteDialogProps) {
  const [report, setReport] = useState<PromotionReport>();
  const [skipped, setSkipped] = useState<ReadonlySet<string>>(new Set());
  const { error, isBusy, run } = useMutation();
  const approval = useApproval();
  const path = `${vaultPath(vaultId)}/promote`;
  const preview = useCallback((): void => {
    void run(async () => {
      const body = { from: `/${left}`, to: `/${right}`, dry_run: true };
      setReport((await request<PromotionReport>(path, { method: "POST", body })).body);
      setSkipped(new Set());
    });
  }, [run, path, left, right]);
  useEffect(preview, [preview]);
  /** Resolves to how many secrets were written; undefined when it failed, or has to be proposed. */
  const promote = async (chosen: readonly string[]): Promise<number | undefined> => {
    const names = chosen.map((target) => target.slice(`/${right}/`.length));
    const folders = { from: `/${left}`, to: `/${right}` };
    const revision = report?.revision ?? 0;
    let count: number | undefined;
    const send = async (): Promise<void> => {
      const body = { ...folders, if_revision: revision, ...(skipped.size === 0 ? {} : { names }) };
      const { body: done } = await request<PromotionReport>(path, { method: "POST", body });
      count = done.created.length + done.changed.length;
    };
    await run(() => approval.attempt(send, () => proposePromotion({ vaultId, ...folders, names, revision })));
    return count;
  };
  const toggle = (target: string): void => {
    const next = new Set(skipped);
    if (!next.delete(target)) next.add(target);
    setSkipped(next);
  };
  return { report, skipped, toggle, error, isBusy, approval, preview, promote };
}

type PromotionPreviewProps = {
  readonly report: PromotionReport;
  readonly right: string;
  readonly skipped: ReadonlySet<string>;
  readonly toggle: (path: string) => void;
};

function PromotionPreview({ report, right, skipped, toggle }: PromotionPreviewProps) {
  const { created, changed, unchanged, local } = report;
  const isEmpty = created.length + changed.length === 0;
  return (
    <div className="stack tight preview">
      {isEmpty && <p>{right} already has all of these values.</p>}
      <Choices title={`New in ${right}`} paths={created} {...{ skipped, toggle }} />
      <Choices title={`Changed in ${right}`} paths={changed} {...{ skipped, toggle }} />
      {local.length > 0 && (
        <section>
          <h3>Stays behind ({local.length})</h3>
          <p className="muted small">
            These secrets, or the ones that they would replace, have the tag “local”.
          </p>
          <ul>
            {local.map((path) => (
              <li key={path} className="mono break-words">
                {path}
              </li>
            ))}
          </ul>
        </section>
      )}
      {unchanged.length > 0 && (
        <p className="muted small">
          {unchanged.length === 1 ? "1 secret has" : `${unchanged.length} secrets have`} the same value
          already.
        </p>
      )}
    </div>
  );
}

type ChoicesProps = Pick<PromotionPreviewProps, "skipped" | "toggle"> & {
  readonly title: string;
  readonly paths: readonly string[];
};

function Choices({ title, paths, skipped, toggle }: ChoicesProps) {
  if (paths.length === 0) return null;
  return (
    <section>
      <h3>
        {title} ({paths.length})
      </h3>
      {paths.map((path) => (
        <CheckboxField
          key={path}
          label={<span className="mono break-words">{path}</span>}
          isChecked={!skipped.has(path)}
          onChange={() => toggle(path)}
        />
      ))}
    </section>
  );
}
