import { Failed, Notice } from "@hearth-and-keep/page-design";
import { useEffect, useRef, useState } from "react";
import { sayDay } from "../../design/exact-moment.tsx";
import { asKeepProblem } from "../../vault-api/use-mutation.ts";
import type { LogPlace } from "./audit-record.ts";
import { canVerify, type VerifyReport, verifyLog } from "./verify-log.ts";

/** idle → checking → done or failed; another press begins again. */
export type Verifying =
  | { readonly state: "idle" }
  | { readonly state: "checking"; readonly records: number }
  | { readonly state: "done"; readonly report: VerifyReport }
  | { readonly state: "failed"; readonly text: string };

/** One check of one log at a time; it ends when the screen shows another. */
export function useVerifying(place: LogPlace): {
  readonly verifying: Verifying;
  readonly verify: () => void;
} {
  const [verifying, setVerifying] = useState<Verifying>({ state: "idle" });
  const end = useRef(new AbortController());
  useEffect(() => () => end.current.abort(), []);
  const verify = (): void => {
    end.current.abort();
    end.current = new AbortController();
    const { signal } = end.current;
    const tell = (now: Verifying): void => {
      if (!signal.aborted) setVerifying(now);
    };
    void check({ place, signal, tell });
  };
  return { verifying, verify };
}

type Check = {
  readonly place: LogPlace;
  readonly signal: AbortSignal;
  readonly tell: (now: Verifying) => void;
};

async function check({ place, signal, tell }: Check): Promise<void> {
  tell({ state: "checking", records: 0 });
  if (!(await canVerify())) {
    tell({
      state: "failed",
      text: "This browser cannot check signatures here. Use a newer one over HTTPS, or export the log and run “keep audit verify”.",
    });
    return;
  }
  try {
    const onProgress = (records: number): void => tell({ state: "checking", records });
    tell({ state: "done", report: await verifyLog({ place, signal, onProgress }) });
  } catch (problem) {
    tell({ state: "failed", text: `The log could not be checked. ${asKeepProblem(problem).message}` });
  }
}

export type VerifyPanelProps = { readonly verifying: Verifying; readonly onRetry: () => void };

export function VerifyPanel({ verifying, onRetry }: VerifyPanelProps) {
  return (
    <div className="verify" aria-live="polite">
      {verifying.state === "checking" && (
        <Notice>
          Checking every record in this browser… {verifying.records.toLocaleString("en")} so far
        </Notice>
      )}
      {verifying.state === "failed" && <Failed text={verifying.text} onRetry={onRetry} />}
      {verifying.state === "done" && <Report report={verifying.report} />}
    </div>
  );
}

function Report({ report: { verdict, since, checkpoint } }: { readonly report: VerifyReport }) {
  if (!verdict.isSound)
    return (
      <Notice kind="bad">
        <strong>
          {verdict.seq === undefined ? "The log cannot be read." : `Record #${verdict.seq} is not as it was.`}
        </strong>{" "}
        It says: {verdict.reason}. Somebody changed the log after it was written, or the database was put
        back. Export it now, and tell whoever runs this Keep.
      </Notice>
    );
  return (
    <Notice kind="good">
      <strong>The log is whole.</strong> {tellRecords(verdict.links, since)}{" "}
      {tellCheckpoint(verdict.links, verdict.checkpoints, checkpoint)}
    </Notice>
  );
}

function tellRecords(links: number, since: string | undefined): string {
  const when = since === undefined ? "" : ` since ${sayDay(new Date(since))}`;
  if (links === 1) return `Its one record${when} is as it was written.`;
  return `All ${links.toLocaleString("en")} records${when} are as they were written.`;
}

/** A chain alone shows that its records fit together; what a signature vouches for ends at the newest checkpoint. */
function tellCheckpoint(links: number, checkpoints: number, newest: VerifyReport["checkpoint"]): string {
  if (newest === undefined)
    return "No checkpoint is signed yet, so this shows that the records fit together, and no more. Keep signs one about every minute.";
  const vouched =
    checkpoints === 1 ? "One signed checkpoint vouches" : `${checkpoints} signed checkpoints vouch`;
  const words = `${vouched} for it up to record #${newest.seq}, made with key ${newest.keyVersion}.`;
  return newest.seq === links
    ? words
    : `${words} The records after it fit together and wait for the next one.`;
}
