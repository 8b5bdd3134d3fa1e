/** The first batch after a change pays for waking threads up, so it is not counted. */
const samplesPerCount = 4;
/** A count this much slower than the best so far is not looked at any longer, and neither are those below it. */
const hopeless = 1.5;
/** Fewer threads are taken when more would hardly be faster: they leave room for others. */
const nearlyEqual = 1.05;
/** Speed has fallen when a batch takes this much longer than it used to. */
const fallen = 1.4;
const samplesToNotice = 6;
const soonestSeconds = 3;
const firstRetrySeconds = 30;
const lastRetrySeconds = 300;
/** Larger batches carry a prompt; how long they take depends on how far it has been read. */
const mostTokensWatched = 32;
/** Batches of a size other than the trial's own are skipped; after this many the trial is given up. */
const mostSkipped = 64;

type Trial = { readonly tokens: number; place: number; times: number[]; skipped: number };
type Measured = { readonly threads: number; readonly milliseconds: number };
/** How long batches of one size take, now and at their best since the count was chosen. */
type Pace = { recent: number; best: number; samples: number };

/**
 * Finds how many threads compute fastest now. "All cores" is several times too slow when another program holds one
 * of them, because threads wait for each other, so counts are tried on real batches of equal size: at the start,
 * when speed falls, and now and then in case the machine has become free.
 */
export class ThreadTuner {
  readonly #counts: readonly number[];
  readonly #now: () => number;
  readonly #paces = new Map<number, Pace>();
  #measured: Measured[] = [];
  #trial: Trial | undefined;
  #chosen: number;
  #settledAt: number;
  #retrySeconds = firstRetrySeconds;

  /** Counts to choose from, most first; a single one is simply used. */
  constructor(counts: readonly number[], now: () => number = () => performance.now()) {
    this.#counts = counts;
    this.#chosen = counts[0] ?? 1;
    this.#now = now;
    this.#settledAt = now();
  }

  /** How many threads compute the next batch. */
  get threads(): number {
    return this.#trial === undefined ? this.#chosen : (this.#counts[this.#trial.place] ?? this.#chosen);
  }

  get isTrying(): boolean {
    return this.#trial !== undefined;
  }

  /** Begins to try all counts on the next batches of this many tokens. */
  startTrial(tokens: number): void {
    if (this.#counts.length < 2) return;
    this.#measured = [];
    this.#trial = { tokens, place: 0, times: [], skipped: 0 };
  }

  /** Ends a trial early with the best count seen so far. */
  endTrial(): void {
    if (this.#trial === undefined) return;
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
    const counted = trial.times.slice(1);
    const mean = counted.reduce((sum, each) => sum + each, 0) / counted.length;
    const isHopeless = counted.length > 0 && mean > best * hopeless;
    if (counted.length < samplesPerCount - 1 && !isHopeless) return;
    this.#measured.push({ threads: this.threads, milliseconds: mean });
    trial.place += 1;
    trial.times = [];
    if (isHopeless || trial.place >= this.#counts.length) this.endTrial();
  }

  #settle(): void {
    const best = Math.min(...this.#measured.map((each) => each.milliseconds));
    const good = this.#measured.filter(({ milliseconds }) => milliseconds <= best * nearlyEqual);
    const before = this.#chosen;
    this.#chosen = good.at(-1)?.threads ?? before;
    const isSame = before === this.#chosen;
    this.#retrySeconds = isSame ? Math.min(this.#retrySeconds * 2, lastRetrySeconds) : firstRetrySeconds;
    this.#settledAt = this.#now();
    this.#paces.clear();
  }

  #watch(tokens: number, milliseconds: number): void {
    if (tokens > mostTokensWatched) return;
    const pace = this.#paces.get(tokens) ?? { recent: milliseconds, best: milliseconds, samples: 0 };
    pace.recent = 0.7 * pace.recent + 0.3 * milliseconds;
    pace.best = Math.min(pace.best, pace.recent);
    pace.samples += 1;
    this.#paces.set(tokens, pace);
    const seconds = (this.#now() - this.#settledAt) / 1000;
    const isSlower = pace.samples >= samplesToNotice && pace.recent > pace.best * fallen;
    if ((isSlower && seconds > soonestSeconds) || seconds > this.#retrySeconds) this.startTrial(tokens);
  }
}

/** All cores, then half as many, down to one. */
export function countsToTry(cores: number): readonly number[] {
  return cores <= 1 ? [1] : [cores, ...countsToTry(Math.floor(cores / 2))];
}
