import type { AuditVerification } from "@hearth-and-keep/audit-records";
import { ErrorNotice, Notice } from "@hearth-and-keep/page-design";
import { useEffect, useRef, useState } from "react";
import { toApiError } from "../../vault-api/api-client.ts";
import type { LogId } from "./audit-record.ts";
import { describeVerification } from "./describe-verification.ts";
import { canVerify, verifyLog } from "./verify-log.ts";

/** idle → verifying → done or failed; Verify starts over. */
export type Verification =
  | { readonly state: "idle" }
  | { readonly state: "verifying"; readonly records: number }
  | { readonly state: "done"; readonly result: AuditVerification }
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
    onUpdate({ state: "done", result: await verifyLog({ logId, signal, onProgress }) });
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
      {verification.state === "done" && <Result result={verification.result} />}
    </div>
  );
}

function Result({ result }: { readonly result: AuditVerification }) {
  const { title, text } = describeVerification(result);
  return (
    <Notice kind={result.isValid ? "success" : "error"}>
      <strong>{title}:</strong> {text}
    </Notice>
  );
}
