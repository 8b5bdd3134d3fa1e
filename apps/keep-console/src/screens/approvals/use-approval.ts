import { useCallback, useState } from "react";
import { needsApproval } from "./explain-approval.ts";
import type { Proposal } from "./proposal.ts";

export type Approval = {
  /** What to propose instead; undefined until a request has been refused because it needs an approval. */
  readonly proposal: Proposal | undefined;
  /** Sends a request. If it needs an approval, keeps what to propose instead of throwing. */
  readonly attempt: (send: () => Promise<void>, propose: () => Proposal | Promise<Proposal>) => Promise<void>;
  readonly discard: () => void;
};

/** For an action whose request may affect a protected path. */
export function useApproval(): Approval {
  const [proposal, setProposal] = useState<Proposal>();
  const attempt = useCallback<Approval["attempt"]>(async (send, propose) => {
    try {
      await send();
    } catch (error) {
      if (!needsApproval(error)) throw error;
      setProposal(await propose());
    }
  }, []);
  const discard = useCallback(() => setProposal(undefined), []);
  return { proposal, attempt, discard };
}
