import type { EngineFailure, Medium } from "@hearth-and-keep/engine";
import { type RunningClock, startRunningClock } from "@hearth-and-keep/engine-host";
import type { EngineClient } from "../wire/engine-client.ts";
import type { PrefillSpeed } from "./prefill-speed.ts";
import type { StartPlan } from "./start-plan.ts";

/** Properties of a request that explain a silence of the engine. */
export type WatchedRequest = {
  readonly isConstrained?: boolean;
  /** Absent without images and sounds. */
  readonly media?: WatchedMedia;
  /** The maximum number of tokens that the engine evaluates before its first response. */
  readonly readTokens?: number;
};

type WatchedMedia = {
  /** How long the engine may be silent while it encodes them. */
  readonly encodingSeconds: number;
  readonly hasAudio: boolean;
};

export type WatchOptions = {
  /** Has its own connection, which other requests cannot occupy. */
  readonly client: EngineClient;
  readonly start: Pick<StartPlan, "slots" | "batchTokens">;
  readonly speed: PrefillSpeed;
  readonly onHung: (failure: EngineFailure) => void;
};

export type EngineWatch = {
  /** Starts tracking a request until it finishes. */
  track(request: WatchedRequest): TrackedRequest;
  stop(): void;
};

type TrackedRequest = {
  /** The compute loop has sent something for it, so its prompt is evaluated. */
  progressed(): void;
  finish(isCompleted: boolean): void;
};

type ActiveRequest = WatchedRequest & { isEvaluated: boolean; abandonedAt: number };

const silenceSeconds = 10;
/** An image is encoded in one step, which takes long on a CPU; all sounds of a message are, too. */
const silenceWithMediaSeconds = 120;
/** Encoding a second of sound takes less on any machine that can run the model at all. */
const encodingSecondsPerSecond = 4;
/** An upper bound for any prompt, so that a hang is always detected eventually. */
const maxSilenceSeconds = 600;
const checkMilliseconds = 500;
const quietMilliseconds = 1000;

/**
 * Detects an engine that hangs while its process is alive. While it is silent, its slots are polled, because the compute
 * loop itself serves them; the health endpoint runs on another thread and always reports success. The loop is silent
 * during a batch, so the timeout covers the expected duration of a batch at the measured speed. A valid grammar can be so
 * ambiguous that sampling a token never finishes; that does not count against the model.
 */
export function watchEngine({ client, start, speed, onHung }: WatchOptions): EngineWatch {
  const abortController = new AbortController();
  let isPolling = false;
  const poll = async (): Promise<void> => {
    isPolling = true;
    try {
      if ((await client.request({ path: "/slots" }, abortController.signal)).status === 200)
        requests.progressed();
    } catch {
      // A missing response shows up as silence.
    } finally {
      isPolling = false;
    }
  };
  const clock = startRunningClock(checkMilliseconds, () => {
    if (!requests.hasPending) return;
    const silence = clock.now() - requests.lastProgressAt;
    if (silence > quietMilliseconds && !isPolling) void poll();
    const seconds = allowedSeconds(requests.all, { start, speed });
    if (silence <= seconds * 1000) return;
    const isConstrained = requests.all.some((request) => request.isConstrained);
    onHung({ kind: isConstrained ? "grammar-too-slow" : "engine-hung", seconds });
  });
  const requests = new ActiveRequests(clock);
  return {
    track: (request) => requests.add(request),
    stop() {
      clock.stop();
      abortController.abort();
    },
  };
}

export function watchMedia(media: readonly Medium[]): WatchedMedia {
  const soundSeconds = media.reduce((sum, each) => sum + ("seconds" in each ? each.seconds : 0), 0);
  return {
    encodingSeconds: Math.max(silenceWithMediaSeconds, soundSeconds * encodingSecondsPerSecond),
    hasAudio: media.some((each) => "seconds" in each),
  };
}

/** The requests the engine is working on, as far as known, and the time of its last progress. */
class ActiveRequests {
  lastProgressAt = 0;
  readonly #clock: RunningClock;
  readonly #pending = new Set<ActiveRequest>();
  /** Aborted requests: the engine continues the step it has started. */
  readonly #abandoned = new Set<ActiveRequest>();

  constructor(clock: RunningClock) {
    this.#clock = clock;
  }

  get hasPending(): boolean {
    return this.#pending.size > 0;
  }

  get all(): readonly ActiveRequest[] {
    return [...this.#pending, ...this.#abandoned];
  }

  progressed(): void {
    const now = this.#clock.now();
    this.lastProgressAt = now;
    for (const request of this.#abandoned) if (!mayStillRun(request, now)) this.#abandoned.delete(request);
  }

  add(watched: WatchedRequest): TrackedRequest {
    if (!this.hasPending) this.lastProgressAt = this.#clock.now();
    const request: ActiveRequest = { ...watched, isEvaluated: false, abandonedAt: 0 };
    this.#pending.add(request);
    return {
      progressed: () => {
        request.isEvaluated = true;
        this.progressed();
      },
      finish: (isCompleted) => {
        if (!this.#pending.delete(request) || isCompleted) return;
        request.abandonedAt = this.#clock.now();
        this.#abandoned.add(request);
      },
    };
  }
}

/** One batch contains the unevaluated tokens of all slots up to its size; further requests wait for a slot. */
function allowedSeconds(
  requests: readonly ActiveRequest[],
  { start, speed }: Pick<WatchOptions, "start" | "speed">,
): number {
  const tokens = requests
    .map(({ isEvaluated, readTokens = 0 }) => (isEvaluated ? 0 : readTokens))
    .toSorted((one, other) => other - one)
    .slice(0, start.slots)
    .reduce((sum, each) => sum + each, 0);
  const evaluation = speed.maxSeconds(Math.min(tokens, start.batchTokens));
  const baseline = Math.max(silenceSeconds, ...requests.map(({ media }) => media?.encodingSeconds ?? 0));
  return Math.round(Math.min(maxSilenceSeconds, Math.max(baseline, evaluation)));
}

/** The engine can report progress between two images of one request. */
function mayStillRun({ media, abandonedAt }: ActiveRequest, now: number): boolean {
  return media !== undefined && now - abandonedAt < media.encodingSeconds * 1000;
}
