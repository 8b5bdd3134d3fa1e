import { modelFailure } from "../model-failure.ts";

/** Small answers are here by then, or their server sends them drop by drop to hold us. */
const mostSeconds = 30;

/** Work on one small answer, whose signal also fires when it takes too long. */
export async function beforeDeadline<Result>(
  { host, signal }: { readonly host: string; readonly signal: AbortSignal },
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const deadline = AbortSignal.timeout(mostSeconds * 1000);
  try {
    return await work(AbortSignal.any([signal, deadline]));
  } catch (cause) {
    if (!deadline.aborted || signal.aborted) throw cause;
    throw modelFailure({ kind: "registry-unreachable", host, reason: "timed-out" }, { cause });
  }
}
