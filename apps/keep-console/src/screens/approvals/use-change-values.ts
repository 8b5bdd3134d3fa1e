import type { Change, ReviewedOperation } from "@hearth-and-keep/vault-contract";
import { useEffect, useState } from "react";
import { type ApiError, request, toApiError } from "../../vault-api/api-client.ts";
import { type RevealTimer, useRevealTimer } from "../secrets/use-reveal-timer.ts";
import { changePath } from "./changes-path.ts";

export type ChangeValues = {
  /** The operations with their values; undefined while these are hidden. */
  readonly revealed: readonly ReviewedOperation[] | undefined;
  readonly isLoading: boolean;
  readonly error: ApiError | undefined;
  readonly timer: RevealTimer;
  readonly reveal: () => Promise<void>;
};

/** Values of a proposed change that are fetched on demand and dropped when the reveal timer runs out. */
export function useChangeValues(vaultId: string, changeId: string): ChangeValues {
  const timer = useRevealTimer();
  const [revealed, setRevealed] = useState<readonly ReviewedOperation[]>();
  const [error, setError] = useState<ApiError>();
  const [isLoading, setIsLoading] = useState(false);
  const isRevealed = timer.secondsLeft !== undefined;
  useEffect(() => {
    if (!isRevealed) setRevealed(undefined);
  }, [isRevealed]);
  const reveal = async (): Promise<void> => {
    setIsLoading(true);
    setError(undefined);
    try {
      const { body } = await request<Change>(`${changePath(vaultId, changeId)}?values=true`);
      // The user switched to another tab before the response arrived.
      if (document.hidden) return;
      setRevealed(body.operations);
      timer.show();
    } catch (failure) {
      setError(toApiError(failure));
    } finally {
      setIsLoading(false);
    }
  };
  return { revealed: isRevealed ? revealed : undefined, isLoading, error, timer, reveal };
}
