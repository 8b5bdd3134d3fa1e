import { useCallback, useState } from "react";
import { type ApiError, toApiError } from "./api-client.ts";

export type Mutation = {
  readonly isBusy: boolean;
  readonly error: ApiError | undefined;
  /** Resolves to whether the work succeeded; a failure is in `error`. */
  readonly run: (work: () => Promise<void>) => Promise<boolean>;
};

/** Busy and error state of one user action, from the click until the response. */
export function useMutation(): Mutation {
  const [isBusy, setIsBusy] = useState(false);
  const [error, setError] = useState<ApiError>();
  const run = useCallback(async (work: () => Promise<void>): Promise<boolean> => {
    setIsBusy(true);
    setError(undefined);
    try {
      await work();
      return true;
    } catch (failure) {
      setError(toApiError(failure));
      return false;
    } finally {
      setIsBusy(false);
    }
  }, []);
  return { isBusy, error, run };
}
