import type { Decision, KeyLimits, KeyUsage, LimitName } from "./key-store.ts";
import { waitFor } from "./stored-rows.ts";

export type KeyState = {
  readonly lastNumber: number;
  /** With what running requests have reserved. */
  readonly dayTokens: number;
  readonly monthTokens: number;
};

/** What a key has used, read in the transaction that decides. */
export type WindowState = KeyState & {
  readonly now: number;
  readonly width: number;
  readonly limits: KeyLimits;
  readonly requests: number;
  readonly newestStart: number | undefined;
  /** Of requests that ended in the window. */
  readonly settledTokens: number;
  readonly newestSettled: number | undefined;
  readonly running: number;
  /** Reserved by running requests, however long ago they started. */
  readonly heldTokens: number;
  /** When the request at a position, newest first, started. */
  readonly findStart: (position: number) => number | undefined;
  /** When the request ended after which the window has lost this many tokens. */
  readonly findFreed: (tokens: number) => number | undefined;
};

export type Wanted = { readonly tokens: number; readonly number: number; readonly isNew: boolean };

/**
 * Tokens count from the moment they are reserved until a window after the request ended. So whenever they were really
 * used, no window has more than the limit: at the last admission of a window, all others of it were still counted.
 */
export function decide(state: WindowState, { tokens, number, isNew }: Wanted): Decision {
  const found = findDenied(state, { tokens, number, isNew });
  const isAdmitted = found === undefined;
  const heldTokens = state.heldTokens + (isAdmitted ? tokens : 0);
  const newestStart = isAdmitted && isNew ? state.now : state.newestStart;
  return {
    number,
    denied: found?.denied,
    waitMilliseconds: found === undefined ? 0 : waitFor(found.denied, found.freeAt - state.now, state.now),
    limits: state.limits,
    requestsInWindow: state.requests + (isAdmitted && isNew ? 1 : 0),
    tokensInWindow: state.settledTokens + heldTokens,
    requestsResetMilliseconds: untilPassed(newestStart, state),
    tokensResetMilliseconds: heldTokens > 0 ? state.width : untilPassed(state.newestSettled, state),
  };
}

function untilPassed(moment: number | undefined, { now, width }: WindowState): number {
  return moment === undefined ? 0 : Math.max(0, moment + width - now);
}

type Denial = { readonly denied: LimitName; readonly freeAt: number };

/** It is not known when a running request ends. */
const unknownWaitMilliseconds = 1000;

function findDenied(state: WindowState, { tokens, isNew }: Wanted): Denial | undefined {
  const { limits, now, width } = state;
  const soon = now + unknownWaitMilliseconds;
  if (isNew && isOver(state.requests + 1, limits.requestsPerMinute)) {
    const started = state.findStart(Math.max(0, (limits.requestsPerMinute ?? 1) - 1));
    return { denied: "requestsPerMinute", freeAt: started === undefined ? soon : started + width };
  }
  if (isNew && isOver(state.running + 1, limits.concurrentRequests)) {
    return { denied: "concurrentRequests", freeAt: soon };
  }
  if (isOver(state.monthTokens + tokens, limits.tokensPerMonth))
    return { denied: "tokensPerMonth", freeAt: soon };
  if (isOver(state.dayTokens + tokens, limits.tokensPerDay)) return { denied: "tokensPerDay", freeAt: soon };
  const used = state.settledTokens + state.heldTokens + tokens;
  if (!isOver(used, limits.tokensPerMinute)) return undefined;
  const freed = state.findFreed(used - (limits.tokensPerMinute ?? 0));
  return { denied: "tokensPerMinute", freeAt: freed === undefined ? soon : freed + width };
}

/** For a running request after its limits were lowered. */
export function findExceeded(limits: KeyLimits, usage: KeyUsage): LimitName | undefined {
  if (isOver(usage.running, limits.concurrentRequests)) return "concurrentRequests";
  if (isOver(usage.tokensThisMonth, limits.tokensPerMonth)) return "tokensPerMonth";
  if (isOver(usage.tokensToday, limits.tokensPerDay)) return "tokensPerDay";
  return isOver(usage.tokensInWindow, limits.tokensPerMinute) ? "tokensPerMinute" : undefined;
}

function isOver(value: number, limit: number | undefined): boolean {
  return limit !== undefined && value > limit;
}
