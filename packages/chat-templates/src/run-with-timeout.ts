import { createContext, Script } from "node:vm";
import { TemplateError } from "./template-error.ts";

const script = new Script("work()");
/** One for all, because making one takes longer than most templates do; nothing but the work of the moment is in it. */
const room: { work: (() => unknown) | undefined } = { work: undefined };
const place = createContext(room);

/**
 * Runs the work and stops it when its time is over, wherever it is, inside a regular expression too.
 * Nothing of the work may be kept when it throws: it may have been stopped half-way.
 */
export function withinTime<Result>(milliseconds: number, work: () => Result): Result {
  const outer = room.work;
  room.work = work;
  try {
    // The script gives back what our own function returned.
    return script.runInContext(place, { timeout: milliseconds }) as Result;
  } catch (problem) {
    // The error is born in the other context, so it is no instance of our Error.
    const isOver = typeof problem === "object" && problem !== null && "code" in problem;
    if (isOver && problem.code === "ERR_SCRIPT_EXECUTION_TIMEOUT") {
      throw new TemplateError(`it takes longer than ${milliseconds} ms`, true);
    }
    throw problem;
  } finally {
    room.work = outer;
  }
}
