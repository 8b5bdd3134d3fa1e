/** A member as a choice sees it. One without a free place may be chosen, too: then the request waits for it. */
export type Candidate = {
  readonly label: string;
  readonly outstanding: number;
  /** How many it takes at once. */
  readonly limit: number;
  /** To a first token, from what was seen of late. */
  readonly expectedSeconds: number;
  /** How long its oldest request has waited for a first token until now. */
  readonly pendingSeconds: number;
  readonly isSuspected: boolean;
  readonly usedAt: number;
};

/** Takes one of at least one; `preferred` is who has read the beginning of the request. */
export type Choose = (
  candidates: readonly Candidate[],
  preferred: string | undefined,
) => Candidate | undefined;

/**
 * So many requests more than the least busy one has, half as many again, or more than a part of its places, are too
 * many to wait for a cached prompt.
 */
const tolerated = { more: 2, times: 1.5, part: 0.25 } as const;
const distrust = 4;

/** So many times what is usual, and so many seconds more. */
const slow = { times: 3, moreSeconds: 0.25 } as const;
/** To read a prompt again takes seconds, so a member that has read it may be slower by as much. */
const worthWaitingSeconds = 2;

function isSlow(expectedSeconds: number, usual: number): boolean {
  return expectedSeconds > slow.times * usual && expectedSeconds - usual > slow.moreSeconds;
}

/**
 * The member that has read the beginning, unless it is suspected, slow or too busy; otherwise the one that can be
 * expected to answer first: what it has to do, times how long it took of late.
 */
export const chooseMember: Choose = (candidates, preferred) => {
  const usual = medianOf(candidates.map(({ expectedSeconds }) => expectedSeconds));
  const least = Math.min(...candidates.map(({ outstanding }) => outstanding));
  const known = candidates.find(({ label }) => label === preferred);
  const wait = (known?.expectedSeconds ?? 0) + (known?.pendingSeconds ?? 0);
  const isWorthIt = !isSlow(wait, usual) || wait < worthWaitingSeconds;
  if (known !== undefined && !known.isSuspected && isWorthIt) {
    const { more, times, part } = tolerated;
    const most = Math.max(least + more, least * times, known.limit * part);
    if (known.outstanding < known.limit && known.outstanding <= most) return known;
  }
  return candidates.toSorted((one, other) => {
    return waitOf(one, usual) - waitOf(other, usual) || one.usedAt - other.usedAt;
  })[0];
};

/**
 * What is pending is added once: an engine that hangs for a moment is not as slow as that with each of its requests.
 * One that is suspected or slow is for when there is much to do.
 */
function waitOf(candidate: Candidate, usual: number): number {
  const { outstanding, expectedSeconds, pendingSeconds, isSuspected } = candidate;
  const doubt = isSuspected || isSlow(expectedSeconds, usual) ? distrust : 1;
  return (outstanding + 1) * expectedSeconds * doubt + pendingSeconds;
}

/** The lower one of two, so that of two members the slow one is slow. */
export function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? 0;
}
