import { createContext, Script } from "node:vm";
import { TemplateError } from "./template-error.ts";

const script = new Script("work()");
/** One context for all runs, because creating one takes longer than most templates; it holds only the current work. */
const sandbox: { work: (() => unknown) | undefined } = { work: undefined };
const context = createContext(sandbox);

/**
 * Runs the work and interrupts it after the timeout, even inside a regular expression. If it throws, discard all state
 * that it has modified: it may have been interrupted at any point.
 */
export function runWithTimeout<Result>(milliseconds: number, work: () => Result): Result {
  const outer = sandbox.work;
  sandbox.work = work;
  try {
    // The script returns the result of `work`.
    return script.runInContext(context, { timeout: milliseconds }) as Result;
  } catch (error) {
    // The error is created in the other context, so it is not an instance of our Error.
    const hasCode = typeof error === "object" && error !== null && "code" in error;
    if (hasCode && error.code === "ERR_SCRIPT_EXECUTION_TIMEOUT") {
      throw new TemplateError(`it exceeds the limit of ${milliseconds} ms`, true);
    }
    throw error;
  } finally {
    sandbox.work = outer;
  }
}
