/** Batches per trial. The first one after a change includes waking up threads, so it is ignored if there are others. */
const samplesPerCount = 8;
/** Fewer batches are enough if they take this long in total. */
const enoughMilliseconds = 250;
/** A number of threads this much slower than the best ends the trial, without trying smaller numbers. */
const hopelessFactor = 1.5;
/** Within this factor, fewer threads are preferred, because they leave cores to other programs. */
const nearlyEqualFactor = 1.05;
/** A core that is free for this fraction of the time is worth a trial. */
const minFreeCoreFraction = 0.4;
/** A batch that takes this much longer than the best counts as slow. */
const slowdownFactor = 1.4;
const samplesToNotice = 6;
/** A new trial needs this many slow batches, or this long: the first ones after a pause are always slow. */
const slowBatchesToAct = 16;
const slowMillisecondsToAct = 300;
const minRetrialSeconds = 3;
const coreCheckSeconds = 2;
const maxRetrialSeconds = 120;
/** Fewer threads than free cores may be a mistake: tried again after this, then at doubling intervals. */
const firstRetrialSeconds = 5;
/** Larger batches contain a prompt, and their duration depends on its position. */
const maxWatchedTokens = 32;
/** Batches of other sizes are skipped during a trial; after this many the trial ends. */
const maxSkippedBatches = 64;

type Trial = { readonly tokens: number; threads: number; times: number[]; skipped: number };
type Measured = { readonly threads: number; readonly milliseconds: number };
/** How long batches of one size take, recently and at best, since the last trial. */
type Pace = { recent: number; best: number; samples: number; slow: number[] };

export type TunerOptions = {
  readonly maxThreads: number;
  /** How many cores are available to this process, e.g. 1.5; undefined while unknown. */
  readonly freeCores: () => number | undefined;
  readonly now?: () => number;
};

/**
 * Finds the fastest number of threads for the current load of the machine. Using all cores is several times too slow if
 * another program occupies one of them, because threads wait for each other. A trial starts with the number of free
 * cores and halves it while that is faster, on real batches of equal size. Trials run on the first batches, when batches
 * get slower, and from time to time in case cores have become free.
 */
export class ThreadTuner {
  readonly #options: TunerOptions;
  readonly #now: () => number;
  readonly #paces = new Map<number, Pace>();
  #measured: Measured[] = [];
  #trial: Trial | undefined;
  #chosen: number;
  #settledAt: number;
  #coresCheckedAt: number;
  #retrialSeconds = firstRetrialSeconds;
  /** The number of threads that the last trial started with. */
  #limit: number;
  #isFirstTrialDue = false;

  constructor(options: TunerOptions) {
    this.#options = options;
    this.#chosen = options.maxThreads;
    this.#now = options.now ?? (() => performance.now());
    this.#settledAt = this.#now();
    this.#coresCheckedAt = this.#settledAt;
    this.#limit = options.maxThreads;
  }

  /** The number of threads for the next batch. */
  get threads(): number {
    return this.#trial?.threads ?? this.#chosen;
  }

  get isTrying(): boolean {
    return this.#trial !== undefined;
  }

  /** Starts a trial on the next batches of this many tokens. */
  startTrial(tokens: number): void {
    this.#isFirstTrialDue = false;
    this.#measured = [];
    this.#limit = this.#maxUsefulThreads();
    this.#trial = { tokens, threads: this.#limit, times: [], skipped: 0 };
    // With a single thread there is nothing to compare.
    if (this.#limit === 1) this.endTrial();
  }

  /** Uses all free cores until the first batches without a prompt, and starts a trial on those. */
  startTrialWithWork(): void {
    this.#limit = this.#maxUsefulThreads();
    this.#chosen = this.#limit;
    this.#isFirstTrialDue = true;
  }

  /** Ends a trial with the best number so far, including the current one. */
  endTrial(): void {
    if (this.#trial === undefined) return;
    const { threads, times } = this.#trial;
    if (times.length > 0 || this.#measured.length === 0) {
      this.#measured.push({ threads, milliseconds: times.length === 0 ? 0 : trimmedMean(times) });
    }
    this.#trial = undefined;
    this.#settle();
  }

  observe(tokens: number, milliseconds: number): void {
    if (this.#trial === undefined) this.#watch(tokens, milliseconds);
    else if (this.#trial.tokens === tokens) this.#try(this.#trial, milliseconds);
    else if ((this.#trial.skipped += 1) > maxSkippedBatches) this.endTrial();
  }

  #try(trial: Trial, milliseconds: number): void {
    trial.times.push(milliseconds);
    const best = Math.min(...this.#measured.map((each) => each.milliseconds));
    const mean = trimmedMean(trial.times);
    const isHopeless = mean > best * hopelessFactor;
    const isEnough =
      trial.times.length >= samplesPerCount ||
      (trial.times.length > 1 && sum(trial.times) >= enoughMilliseconds);
    if (!isEnough && !isHopeless) return;
    if (isHopeless || trial.threads === 1) {
      this.endTrial();
      return;
    }
    this.#measured.push({ threads: trial.threads, milliseconds: mean });
    trial.threads = Math.max(1, Math.floor(trial.threads / 2));
    trial.times = [];
  }

  #settle(): void {
    const best = Math.min(...this.#measured.map((each) => each.milliseconds));
    const good = this.#measured.filter(({ milliseconds }) => milliseconds <= best * nearlyEqualFactor);
    this.#chosen = good.at(-1)?.threads ?? this.#chosen;
    const isUncertain = this.#chosen < this.#limit;
    this.#retrialSeconds = isUncertain
      ? Math.min(2 * this.#retrialSeconds, maxRetrialSeconds)
      : firstRetrialSeconds;
    this.#settledAt = this.#now();
    this.#paces.clear();
  }

  #watch(tokens: number, milliseconds: number): void {
    if (tokens > maxWatchedTokens || this.#options.maxThreads === 1) return;
    if (this.#isFirstTrialDue) {
      if (this.#options.freeCores() !== undefined) this.startTrial(tokens);
      return;
    }
    const pace = this.#paces.get(tokens) ?? {
      recent: milliseconds,
      best: milliseconds,
      samples: 0,
      slow: [],
    };
    pace.recent = 0.7 * pace.recent + 0.3 * milliseconds;
    pace.best = Math.min(pace.best, pace.recent);
    pace.samples += 1;
    this.#paces.set(tokens, pace);
    const seconds = (this.#now() - this.#settledAt) / 1000;
    if (pace.recent > pace.best * slowdownFactor) pace.slow.push(milliseconds);
    else pace.slow = [];
    const isSlower =
      pace.samples >= samplesToNotice &&
      (pace.slow.length >= slowBatchesToAct || sum(pace.slow) >= slowMillisecondsToAct);
    const retrialSeconds = this.#chosen < this.#limit ? this.#retrialSeconds : maxRetrialSeconds;
    const isDue = (isSlower && seconds > minRetrialSeconds) || seconds > retrialSeconds;
    // Reading the cores' usage has a cost, so it is not done for every batch.
    const mayCheckCores = this.#now() - this.#coresCheckedAt >= coreCheckSeconds * 1000;
    if (!(isDue || mayCheckCores) || this.#options.freeCores() === undefined) return;
    this.#coresCheckedAt = this.#now();
    if (isDue || this.#maxUsefulThreads() > this.#limit) this.startTrial(tokens);
  }

  #maxUsefulThreads(): number {
    const { freeCores, maxThreads } = this.#options;
    const free = Math.ceil((freeCores() ?? maxThreads) - minFreeCoreFraction);
    return Math.min(maxThreads, Math.max(1, free));
  }
}

/** Ignores the first batch and the slowest quarter, which waited for a core that was briefly busy. */
function trimmedMean(times: readonly number[]): number {
  const later = times.length > 1 ? times.slice(1) : times;
  const counted = later.toSorted((a, b) => a - b).slice(0, Math.ceil(later.length * 0.75));
  return sum(counted) / counted.length;
}

function sum(times: readonly number[]): number {
  return times.reduce((total, each) => total + each, 0);
}
