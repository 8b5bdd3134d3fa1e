import { ErrorNotice, Link, Notice } from "@hearth-and-keep/page-design";
import type { Change } from "@hearth-and-keep/vault-contract";
import { type FormEvent, type ReactNode, useState } from "react";
import { TextField } from "../../design/field.tsx";
import { Timestamp } from "../../design/timestamp.tsx";
import { type ApiError, request } from "../../vault-api/api-client.ts";
import { useMutation } from "../../vault-api/use-mutation.ts";
import { invalidate } from "../../vault-api/use-query.ts";
import { hrefOf } from "../secrets/secrets-location.ts";
import { changesPath } from "./changes-path.ts";
import { type CurrentSettings, describeProposal } from "./describe-change.ts";
import type { Proposal } from "./proposal.ts";

export type ProposeFormProps = {
  readonly vaultId: string;
  readonly proposal: Proposal;
  /** Known where settings are changed, to say what differs. */
  readonly current?: CurrentSettings;
  /** Shown above the reason. */
  readonly children?: ReactNode;
  /** Returns to what was typed. */
  readonly onBack: () => void;
  readonly onClose: () => void;
};

/** Replaces a form or a question whose request needs an approval. Afterwards it links to the proposed change. */
export default function ProposeForm(props: ProposeFormProps) {
  const { vaultId, proposal, current, children, onBack, onClose } = props;
  const [reason, setReason] = useState("");
  const [reasonError, setReasonError] = useState<string>();
  const [proposed, setProposed] = useState<Change>();
  const { run, isBusy, error } = useMutation();
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const text = reason.trim();
    setReasonError(text === "" ? "Enter a reason" : undefined);
    if (text === "") return;
    void run(async () => {
      const body = { reason: text, ...proposal };
      setProposed((await request<Change>(changesPath(vaultId), { method: "POST", body })).body);
      invalidate(changesPath(vaultId));
    });
  };
  if (proposed !== undefined) return <Proposed {...{ vaultId, onClose }} change={proposed} />;
  return (
    <form className="stack" noValidate onSubmit={submit} aria-label="Propose change">
      <p>
        This is protected: it takes effect only after another person has approved it. Say why, and propose it.
      </p>
      <ul className="bullets" aria-label="Change">
        {describeProposal(proposal, current).map((line) => (
          <li key={line} className="break-words">
            {line}
          </li>
        ))}
      </ul>
      {children}
      <TextField
        label="Reason"
        hint="Not encrypted, and recorded in the audit log. Do not put a value into it."
        autoComplete="off"
        maxLength={500}
        value={reason}
        error={reasonError}
        onChange={(event) => setReason(event.currentTarget.value)}
      />
      {error !== undefined && <ErrorNotice text={describeFailure(error)} />}
      <div className="dialog-actions">
        <button type="button" className="button" onClick={onBack}>
          Back
        </button>
        <button type="submit" className="button primary" disabled={isBusy}>
          {isBusy ? "Proposing…" : "Propose change"}
        </button>
      </div>
    </form>
  );
}

function describeFailure(error: ApiError): string {
  return error.code === "precondition_failed"
    ? "This changed in the meantime, so nothing was proposed. Go back, reload it and try again."
    : error.message;
}

type ProposedProps = Pick<ProposeFormProps, "vaultId" | "onClose"> & { readonly change: Change };

function Proposed({ vaultId, change, onClose }: ProposedProps) {
  return (
    <div className="stack">
      <div role="status">
        <Notice kind="success">
          <strong>Change proposed.</strong> It takes effect once another person approves it, and expires{" "}
          <Timestamp at={change.expires_at} />. You find it under Changes of this vault.
        </Notice>
      </div>
      <div className="dialog-actions">
        <button type="button" className="button" onClick={onClose}>
          Close
        </button>
        <Link
          className="button primary"
          to={hrefOf({ vaultId, view: "changes", changeId: change.id })}
          onClick={onClose}
        >
          View change
        </Link>
      </div>
    </div>
  );
}
