/** A member to choose from. A member without a free slot can be chosen too; then the request waits for it. */
export type Candidate = {
  readonly label: string;
  readonly outstanding: number;
  /** The maximum number of concurrent requests. */
  readonly limit: number;
  /** Expected time to the first token, from recent measurements. */
  readonly expectedSeconds: number;
  /** How long its oldest pending request has been waiting for a first token. */
  readonly pendingSeconds: number;
  readonly isSuspected: boolean;
  readonly usedAt: number;
};

/** Chooses one of at least one candidate; `preferred` is the member that has the request's prefix cached. */
export type Choose = (
  candidates: readonly Candidate[],
  preferred: string | undefined,
) => Candidate | undefined;

/**
 * A cached prefix is worth waiting for while the member has no more than `more` requests above the least busy one,
 * `times` as many, or a `share` of its slots.
 */
const overloadTolerance = { more: 2, times: 1.5, share: 0.25 } as const;
const distrustFactor = 4;

/** A member is slow if it takes this many times the typical time and this many seconds more. */
const slowThreshold = { times: 3, moreSeconds: 0.25 } as const;
/** Processing a prompt again takes seconds, so a member with a cached prefix may be slower by that much. */
const worthWaitingSeconds = 2;

function isSlow(expectedSeconds: number, typical: number): boolean {
  return (
    expectedSeconds > slowThreshold.times * typical && expectedSeconds - typical > slowThreshold.moreSeconds
  );
}

/**
 * Chooses the member with the cached prefix unless it is suspected, slow or too busy; otherwise the one expected to
 * respond first, from its number of requests and its recent time to first token.
 */
export const chooseMember: Choose = (candidates, preferred) => {
  const typical = medianOf(candidates.map(({ expectedSeconds }) => expectedSeconds));
  const fewest = Math.min(...candidates.map(({ outstanding }) => outstanding));
  const cached = candidates.find(({ label }) => label === preferred);
  const wait = (cached?.expectedSeconds ?? 0) + (cached?.pendingSeconds ?? 0);
  const isWorthIt = !isSlow(wait, typical) || wait < worthWaitingSeconds;
  if (cached !== undefined && !cached.isSuspected && isWorthIt) {
    const { more, times, share } = overloadTolerance;
    const maxOutstanding = Math.max(fewest + more, fewest * times, cached.limit * share);
    if (cached.outstanding < cached.limit && cached.outstanding <= maxOutstanding) return cached;
  }
  return candidates.toSorted((one, other) => {
    return expectedWait(one, typical) - expectedWait(other, typical) || one.usedAt - other.usedAt;
  })[0];
};

/**
 * The pending time is added only once: an engine that stalls for a moment is not that slow for every request.
 * Suspected or slow members are used only under heavy load.
 */
function expectedWait(candidate: Candidate, typical: number): number {
  const { outstanding, expectedSeconds, pendingSeconds, isSuspected } = candidate;
  const factor = isSuspected || isSlow(expectedSeconds, typical) ? distrustFactor : 1;
  return (outstanding + 1) * expectedSeconds * factor + pendingSeconds;
}

/** The lower median, so that of two members the slower one counts as slow. */
export function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? 0;
}
