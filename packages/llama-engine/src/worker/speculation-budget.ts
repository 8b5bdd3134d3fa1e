import type { Guess } from "./prompt-lookup.ts";

/** The numbers of guessed tokens that are tried, so that each soon has a measured cost. */
const lengths = [1, 2, 3, 4, 6, 8, 12, 16, 24, 31] as const;
export const maxGuessTokens = 31;
/** What a guess and each of its tokens cost before any was measured, as on CPUs, relative to a batch of one token. */
const assumedCost = { guess: 0.45, token: 0.2 };
/** The median of so many batches counts, because some wait for a core. */
const maxSamples = 5;
/** A cost that was measured so many batches ago, perhaps beside another program, is forgotten. */
const maxAgeBatches = 128;

type Cost = { readonly samples: readonly number[]; readonly median: number; readonly measuredAt: number };

/**
 * How long batches of one sequence take on this machine with this model, by their size. Shared by all requests: it depends
 * on numbers of tokens only.
 */
export class BatchCosts {
  #batches = 0;
  /** By guessed tokens: milliseconds without any, else relative to a batch without. */
  readonly #costs = new Map<number, Cost>();

  /** Milliseconds of a batch without guesses; undefined until one was measured. */
  get single(): number | undefined {
    return this.#costOf(0);
  }

  record(guessed: number, milliseconds: number): void {
    this.#batches += 1;
    const { single } = this;
    if (guessed > 0 && single === undefined) return;
    const value = guessed === 0 ? milliseconds : Math.max(1, milliseconds / (single ?? milliseconds));
    const samples = [...(this.#costs.get(guessed)?.samples ?? []), value].slice(-maxSamples);
    this.#costs.set(guessed, { samples, median: medianOf(samples), measuredAt: this.#batches });
  }

  /** The cost of a batch with this many guessed tokens, relative to one without. */
  relative(guessed: number): number {
    if (guessed === 0) return 1;
    const measured = this.#costOf(guessed);
    if (measured !== undefined) return measured;
    const below = lengths.findLast((length) => length < guessed && this.#costOf(length) !== undefined) ?? 0;
    const above = lengths.find((length) => length > guessed && this.#costOf(length) !== undefined);
    const start = this.relative(below);
    if (above === undefined) {
      const guess = below === 0 ? assumedCost.guess : 0;
      return start + guess + assumedCost.token * (guessed - below);
    }
    return start + ((this.relative(above) - start) * (guessed - below)) / (above - below);
  }

  #costOf(guessed: number): number | undefined {
    const cost = this.#costs.get(guessed);
    if (cost === undefined) return undefined;
    if (this.#batches - cost.measuredAt > maxAgeBatches) {
      this.#costs.delete(guessed);
      return undefined;
    }
    return cost.median;
  }
}

/** Of an even number, the smaller one: waiting makes batches slower, nothing makes them faster. */
function medianOf(samples: readonly number[]): number {
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? Number.NaN;
}

/** A guess after a longer match is right more often. Each class starts with an assumption. */
const classes = [
  { minMatched: 0, acceptance: 0.4 },
  { minMatched: 4, acceptance: 0.6 },
  { minMatched: 8, acceptance: 0.85 },
] as const;
/** How many tokens the assumption counts as. */
const assumedTokens = 3;
/** How much of earlier results is kept with each later one. */
const kept = 0.9;
/** The part of the time that wrong guesses may cost. */
const maxLoss = 0.015;
/** In tokens, as everything the budget counts. */
const maxCredit = 12;
/** What a guess after a long match may cost before anything was gained. */
const maxDebt = 1.6;
const minMatchedForDebt = 8;
/** A smaller gain is within the error of the measurement. */
const minGain = 1.1;
/** After this many batches with guesses, one without is measured again. */
const maxUnmeasuredBatches = 24;

type Acceptance = { accepted: number; verified: number };

/**
 * Decides for one request how many tokens to guess. Guesses are verified only if they are expected to gain, by the cost of
 * larger batches and by how many guesses of this request were right. Guesses that are not verified count too: whether
 * their first token was right is known for nothing. And guesses are verified on credit only: wrong ones may cost what right
 * ones have gained and a small part of the time besides. So a text that repeats nothing is not delayed, and one that
 * begins to repeat is noticed.
 */
export class SpeculationBudget {
  readonly #costs: BatchCosts;
  readonly #acceptances: readonly Acceptance[] = classes.map(({ acceptance }) => ({
    accepted: assumedTokens * acceptance,
    verified: assumedTokens,
  }));
  #credit = 0;
  #unmeasuredBatches = 0;
  #proposed = 0;
  #accepted = 0;

  constructor(costs: BatchCosts) {
    this.#costs = costs;
  }

  get proposedTokens(): number {
    return this.#proposed;
  }

  get acceptedTokens(): number {
    return this.#accepted;
  }

  /** How many tokens of a guess to verify; 0 for none. */
  chooseLength({ tokens, matchedTokens }: Guess): number {
    if (this.#costs.single === undefined || this.#unmeasuredBatches >= maxUnmeasuredBatches) return 0;
    const { accepted, verified } = this.#acceptanceOf(matchedTokens);
    const maxCost = 1 + this.#credit + (matchedTokens >= minMatchedForDebt ? maxDebt : 0);
    let best = { length: 0, gain: minGain };
    let expectedTokens = 1;
    let probability = 1;
    for (let length = 1; length <= tokens.length; length += 1) {
      probability *= accepted / verified;
      expectedTokens += probability;
      if (!lengths.some((each) => each === length)) continue;
      const cost = this.#costs.relative(length);
      if (cost <= maxCost && expectedTokens / cost > best.gain)
        best = { length, gain: expectedTokens / cost };
    }
    return best.length;
  }

  /** Call this after each batch without a guess; the duration of one that other requests shared is undefined. */
  recordSingle(milliseconds: number | undefined): void {
    this.#unmeasuredBatches = 0;
    if (milliseconds !== undefined) this.#costs.record(0, milliseconds);
    this.#earn(maxLoss);
  }

  /** Whether the first token of a guess was right that was not verified. */
  recordUnverified({ matchedTokens }: Guess, isRight: boolean): void {
    this.#learn(matchedTokens, { accepted: isRight ? 1 : 0, verified: 1 });
  }

  recordVerified(
    { proposed, accepted, matchedTokens }: VerifiedGuess,
    milliseconds: number | undefined,
  ): void {
    if (milliseconds !== undefined) this.#costs.record(proposed, milliseconds);
    this.#unmeasuredBatches += 1;
    this.#proposed += proposed;
    this.#accepted += accepted;
    this.#learn(matchedTokens, { accepted, verified: Math.min(proposed, accepted + 1) });
    this.#earn(1 + accepted - this.#costs.relative(proposed));
  }

  #earn(tokens: number): void {
    this.#credit = Math.min(maxCredit, this.#credit + tokens);
  }

  #learn(matchedTokens: number, { accepted, verified }: Acceptance): void {
    const acceptance = this.#acceptanceOf(matchedTokens);
    acceptance.accepted = kept * acceptance.accepted + accepted;
    acceptance.verified = kept * acceptance.verified + verified;
  }

  #acceptanceOf(matchedTokens: number): Acceptance {
    const index = classes.findLastIndex(({ minMatched }) => matchedTokens >= minMatched);
    return this.#acceptances[index] ?? { accepted: 0, verified: 1 };
  }
}

export type VerifiedGuess = {
  readonly proposed: number;
  readonly accepted: number;
  readonly matchedTokens: number;
};
