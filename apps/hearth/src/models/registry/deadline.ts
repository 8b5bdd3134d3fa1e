import { modelFailure } from "../model-failure.ts";

/** Enough for any small response; a server that sends it byte by byte must not hold the request open. */
const timeoutSeconds = 30;

/** Runs work with a signal that also aborts at the deadline; exceeding it is reported as a timeout of the host. */
export async function withDeadline<Result>(
  { host, signal }: { readonly host: string; readonly signal: AbortSignal },
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const deadline = AbortSignal.timeout(timeoutSeconds * 1000);
  try {
    return await work(AbortSignal.any([signal, deadline]));
  } catch (cause) {
    if (!deadline.aborted || signal.aborted) throw cause;
    throw modelFailure({ kind: "registry-unreachable", host, reason: "timed-out" }, { cause });
  }
}
