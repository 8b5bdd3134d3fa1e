import { ErrorNotice, Notice } from "@hearth-and-keep/page-design";
import { useEffect, useRef, useState } from "react";
import { formatDate } from "../../design/timestamp.tsx";
import { toApiError } from "../../vault-api/api-client.ts";
import type { LogId } from "./audit-record.ts";
import { canVerify, type VerifyReport, verifyLog } from "./verify-log.ts";

/** idle → verifying → done or failed; Verify starts over. */
export type Verification =
  | { readonly state: "idle" }
  | { readonly state: "verifying"; readonly records: number }
  | { readonly state: "done"; readonly report: VerifyReport }
  | { readonly state: "failed"; readonly text: string };

/** One verification at a time; it is aborted when the screen shows another log. */
export function useVerification(logId: LogId): {
  readonly verification: Verification;
  readonly verify: () => void;
} {
  const [verification, setVerification] = useState<Verification>({ state: "idle" });
  const controller = useRef(new AbortController());
  useEffect(() => () => controller.current.abort(), []);
  const verify = (): void => {
    controller.current.abort();
    controller.current = new AbortController();
    const { signal } = controller.current;
    const onUpdate = (next: Verification): void => {
      if (!signal.aborted) setVerification(next);
    };
    void runVerification({ logId, signal, onUpdate });
  };
  return { verification, verify };
}

type VerificationRun = {
  readonly logId: LogId;
  readonly signal: AbortSignal;
  readonly onUpdate: (next: Verification) => void;
};

async function runVerification({ logId, signal, onUpdate }: VerificationRun): Promise<void> {
  onUpdate({ state: "verifying", records: 0 });
  if (!(await canVerify())) {
    onUpdate({
      state: "failed",
      text: "This browser cannot check Ed25519 signatures here. Use a newer browser over HTTPS, or export the log and run “keep audit verify”.",
    });
    return;
  }
  try {
    const onProgress = (records: number): void => onUpdate({ state: "verifying", records });
    onUpdate({ state: "done", report: await verifyLog({ logId, signal, onProgress }) });
  } catch (error) {
    onUpdate({ state: "failed", text: `Verification did not finish. ${toApiError(error).message}` });
  }
}

export type VerifyPanelProps = { readonly verification: Verification; readonly onRetry: () => void };

export function VerifyPanel({ verification, onRetry }: VerifyPanelProps) {
  return (
    <div className="verify" aria-live="polite">
      {verification.state === "verifying" && (
        <Notice>
          Verifying in this browser: {verification.records.toLocaleString("en")} records so far…
        </Notice>
      )}
      {verification.state === "failed" && <ErrorNotice text={verification.text} onRetry={onRetry} />}
      {verification.state === "done" && <Report report={verification.report} />}
    </div>
  );
}

function Report({ report: { result, since, checkpoint } }: { readonly report: VerifyReport }) {
  if (!result.isValid)
    return (
      <Notice kind="error">
        <strong>
          {result.seq === undefined ? "The log cannot be read" : `Record #${result.seq} failed verification`}:
        </strong>{" "}
        {result.reason}. The log was modified after it was written, or the database was restored to an earlier
        state. Export the log now and contact the operator of this Keep.
      </Notice>
    );
  return (
    <Notice kind="success">
      <strong>Log verified:</strong> {describeRecords(result.links, since)}{" "}
      {describeCheckpoint(result.links, result.checkpoints, checkpoint)}
    </Notice>
  );
}

function describeRecords(links: number, since: string | undefined): string {
  const records = links === 1 ? "1 record" : `${links.toLocaleString("en")} records`;
  const start = since === undefined ? "" : ` since ${formatDate(new Date(since))}`;
  return `${records}${start}, no changes detected.`;
}

/** The hash chain only shows that records are consistent; signatures cover records up to the newest checkpoint. */
function describeCheckpoint(links: number, checkpoints: number, newest: VerifyReport["checkpoint"]): string {
  if (newest === undefined)
    return "No checkpoint is signed yet, so only the hash chain was checked. Keep signs a checkpoint about every minute.";
  const count = checkpoints === 1 ? "1 signed checkpoint" : `${checkpoints} signed checkpoints`;
  const covered = `${count}, key ${newest.keyVersion}, up to record #${newest.seq}.`;
  return newest.seq === links ? covered : `${covered} Later records await the next checkpoint.`;
}
