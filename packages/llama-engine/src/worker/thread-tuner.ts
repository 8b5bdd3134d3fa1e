/** The first batch after a change pays for waking threads up, so it counts only when there is no other. */
const samplesPerCount = 8;
/** Long batches tell enough after fewer. */
const enoughMilliseconds = 250;
/** A count this much slower than the best so far is not looked at any longer, and neither are those below it. */
const hopeless = 1.5;
/** Fewer threads are taken when more would hardly be faster: they leave room for others. */
const nearlyEqual = 1.05;
/** A core that is free for this part of the time is worth a trial. */
const worthwhileShare = 0.4;
/** Speed has fallen when a batch takes this much longer than it used to. */
const fallen = 1.4;
const samplesToNotice = 6;
/** And has stayed so for as many batches or as long: the first ones after a pause are slow anyhow. */
const slowBatchesToAct = 16;
const slowMillisecondsToAct = 300;
const soonestSeconds = 3;
const lookSeconds = 2;
const retrySeconds = 120;
/** A choice of fewer threads than there are free cores may be a mistake: it is looked at again after this, then later and later. */
const firstDoubtSeconds = 5;
/** Larger batches carry a prompt; how long they take depends on how far it has been read. */
const mostTokensWatched = 32;
/** Batches of a size other than the trial's own are skipped; after this many the trial is given up. */
const mostSkipped = 64;

type Trial = { readonly tokens: number; threads: number; times: number[]; skipped: number };
type Measured = { readonly threads: number; readonly milliseconds: number };
/** How long batches of one size take, now and at their best since the count was chosen. */
type Pace = { recent: number; best: number; samples: number; slow: number[] };

export type TunerParts = {
  /** The most there may be. */
  readonly mostThreads: number;
  /** How many cores are idle or ours, as in 1.5; undefined while nobody can tell. */
  readonly freeCores: () => number | undefined;
  readonly now?: () => number;
};

/**
 * Finds how many threads compute fastest now. "All cores" is several times too slow when another program holds one
 * of them, because threads wait for each other. So no more are tried than there are free cores, and from there down
 * as long as it gets faster, on real batches of equal size: at the start, when speed falls, and now and then in case
 * the machine has become free.
 */
export class ThreadTuner {
  readonly #parts: TunerParts;
  readonly #now: () => number;
  readonly #paces = new Map<number, Pace>();
  #measured: Measured[] = [];
  #trial: Trial | undefined;
  #chosen: number;
  #settledAt: number;
  #lookedAt: number;
  #doubtSeconds = firstDoubtSeconds;
  /** With how many threads the last trial began: more would have been too many then. */
  #limit: number;

  constructor(parts: TunerParts) {
    this.#parts = parts;
    this.#chosen = parts.mostThreads;
    this.#now = parts.now ?? (() => performance.now());
    this.#settledAt = this.#now();
    this.#lookedAt = this.#settledAt;
    this.#limit = parts.mostThreads;
  }

  /** How many threads compute the next batch. */
  get threads(): number {
    return this.#trial?.threads ?? this.#chosen;
  }

  get isTrying(): boolean {
    return this.#trial !== undefined;
  }

  /** Begins to try counts on the next batches of this many tokens. */
  startTrial(tokens: number): void {
    this.#measured = [];
    this.#limit = this.#worthwhile();
    this.#trial = { tokens, threads: this.#limit, times: [], skipped: 0 };
    // There is nothing to compare a single thread with.
    if (this.#limit === 1) this.endTrial();
  }

  /** Ends a trial with the best count seen so far, the one being tried included. */
  endTrial(): void {
    if (this.#trial === undefined) return;
    const { threads, times } = this.#trial;
    if (times.length > 0 || this.#measured.length === 0) {
      this.#measured.push({ threads, milliseconds: times.length === 0 ? 0 : meanOf(times) });
    }
    this.#trial = undefined;
    this.#settle();
  }

  observe(tokens: number, milliseconds: number): void {
    if (this.#trial === undefined) this.#watch(tokens, milliseconds);
    else if (this.#trial.tokens === tokens) this.#try(this.#trial, milliseconds);
    else if ((this.#trial.skipped += 1) > mostSkipped) this.endTrial();
  }

  #try(trial: Trial, milliseconds: number): void {
    trial.times.push(milliseconds);
    const best = Math.min(...this.#measured.map((each) => each.milliseconds));
    const mean = meanOf(trial.times);
    const isHopeless = mean > best * hopeless;
    const isEnough =
      trial.times.length >= samplesPerCount ||
      (trial.times.length > 1 && sumOf(trial.times) >= enoughMilliseconds);
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
    const good = this.#measured.filter(({ milliseconds }) => milliseconds <= best * nearlyEqual);
    this.#chosen = good.at(-1)?.threads ?? this.#chosen;
    const isDoubtful = this.#chosen < this.#limit;
    this.#doubtSeconds = isDoubtful ? Math.min(2 * this.#doubtSeconds, retrySeconds) : firstDoubtSeconds;
    this.#settledAt = this.#now();
    this.#paces.clear();
  }

  #watch(tokens: number, milliseconds: number): void {
    if (tokens > mostTokensWatched || this.#parts.mostThreads === 1) return;
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
    if (pace.recent > pace.best * fallen) pace.slow.push(milliseconds);
    else pace.slow = [];
    const isSlower =
      pace.samples >= samplesToNotice &&
      (pace.slow.length >= slowBatchesToAct || sumOf(pace.slow) >= slowMillisecondsToAct);
    const patience = this.#chosen < this.#limit ? this.#doubtSeconds : retrySeconds;
    const isDue = (isSlower && seconds > soonestSeconds) || seconds > patience;
    // Looking at the cores costs a little, so it is not done for every batch.
    const mayLook = this.#now() - this.#lookedAt >= lookSeconds * 1000;
    if (!(isDue || mayLook) || this.#parts.freeCores() === undefined) return;
    this.#lookedAt = this.#now();
    if (isDue || this.#worthwhile() > this.#limit) this.startTrial(tokens);
  }

  #worthwhile(): number {
    const { freeCores, mostThreads } = this.#parts;
    const free = Math.ceil((freeCores() ?? mostThreads) - worthwhileShare);
    return Math.min(this.#parts.mostThreads, Math.max(1, free));
  }
}

/** Without the first, and without the slowest quarter: those waited for a core that somebody took for a moment. */
function meanOf(times: readonly number[]): number {
  const later = times.length > 1 ? times.slice(1) : times;
  const counted = later.toSorted((a, b) => a - b).slice(0, Math.ceil(later.length * 0.75));
  return sumOf(counted) / counted.length;
}

function sumOf(times: readonly number[]): number {
  return times.reduce((sum, each) => sum + each, 0);
}
