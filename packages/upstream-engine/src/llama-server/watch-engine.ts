import type { EngineFailure } from "@hearth-and-keep/engine";
import type { EngineClient } from "../wire/engine-client.ts";
import type { ReadingSpeed } from "./prefill-speed.ts";
import type { StartPlan } from "./start-plan.ts";

/** What a question is about, as far as it excuses silence. */
export type WatchedRequest = {
  readonly isConstrained?: boolean;
  readonly hasImages?: boolean;
  /** Most tokens that it makes the engine read before it first answers. */
  readonly readTokens?: number;
};

export type WatchOptions = {
  /** With a connection that nobody else's questions can fill. */
  readonly client: EngineClient;
  readonly start: Pick<StartPlan, "slots" | "batchTokens">;
  readonly speed: ReadingSpeed;
  readonly onHung: (failure: EngineFailure) => void;
};

export type EngineWatch = {
  /** From here on somebody waits, until they leave. */
  enter(asked: WatchedRequest): Entered;
  stop(): void;
};

type Entered = {
  /** The loop that computes has told something of it, so its prompt is read. */
  heard(): void;
  leave(isAnswered: boolean): void;
};

type Work = WatchedRequest & { isRead: boolean; leftAt: number };

const silenceSeconds = 10;
/** An image is looked at in one piece, which takes long on a processor. */
const silenceWithImagesSeconds = 120;
/** However much is to be read: a hang must be found one day. */
const longestSilenceSeconds = 600;
const lookEveryMilliseconds = 500;
const quietMilliseconds = 1000;

/**
 * Finds out an engine that has stopped working though its process lives. It is asked for its slots while it is quiet,
 * because that answer comes from the loop that computes; another thread would call itself healthy whatever happens.
 * The loop is silent while it computes one batch, so it is given as long as that may take at the speed known so far.
 * A valid grammar can be so ambiguous that choosing a token takes for ever; the model is not to blame for that.
 */
export function watchEngine({ client, start, speed, onHung }: WatchOptions): EngineWatch {
  const works = new Works();
  const end = new AbortController();
  let isAsking = false;
  const look = async (): Promise<void> => {
    isAsking = true;
    try {
      if ((await client.ask({ path: "/slots" }, end.signal)).status === 200) works.heard();
    } catch {
      // No answer is what the time since the last one tells.
    } finally {
      isAsking = false;
    }
  };
  const timer = setInterval(() => {
    if (!works.isAwaited) return;
    const silence = performance.now() - works.heardAt;
    if (silence > quietMilliseconds && !isAsking) void look();
    const seconds = allowedSeconds(works.all, { start, speed });
    if (silence <= seconds * 1000) return;
    const isConstrained = works.all.some((work) => work.isConstrained);
    onHung({ kind: isConstrained ? "grammar-too-slow" : "engine-hung", seconds });
  }, lookEveryMilliseconds);
  timer.unref();
  return {
    enter: (asked) => works.enter(asked),
    stop() {
      clearInterval(timer);
      end.abort();
    },
  };
}

/** What the engine is at work on, as far as we know, and when it was last heard of. */
class Works {
  heardAt: number = performance.now();
  readonly #underWay = new Set<Work>();
  /** Whoever hangs up stops nothing: the engine goes on with what it has begun. */
  readonly #abandoned = new Set<Work>();

  get isAwaited(): boolean {
    return this.#underWay.size > 0;
  }

  get all(): readonly Work[] {
    return [...this.#underWay, ...this.#abandoned];
  }

  heard(): void {
    this.heardAt = performance.now();
    for (const work of this.#abandoned) if (!isStillSeen(work)) this.#abandoned.delete(work);
  }

  enter(asked: WatchedRequest): Entered {
    if (!this.isAwaited) this.heardAt = performance.now();
    const work: Work = { ...asked, isRead: false, leftAt: 0 };
    this.#underWay.add(work);
    return {
      heard: () => {
        work.isRead = true;
        this.heard();
      },
      leave: (isAnswered) => {
        if (!this.#underWay.delete(work) || isAnswered) return;
        work.leftAt = performance.now();
        this.#abandoned.add(work);
      },
    };
  }
}

/** One batch holds what all slots have to read, as far as it has room; further questions wait for a slot. */
function allowedSeconds(
  works: readonly Work[],
  { start, speed }: Pick<WatchOptions, "start" | "speed">,
): number {
  const tokens = works
    .map(({ isRead, readTokens = 0 }) => (isRead ? 0 : readTokens))
    .toSorted((one, other) => other - one)
    .slice(0, start.slots)
    .reduce((sum, each) => sum + each, 0);
  const reading = speed.longestSeconds(Math.min(tokens, start.batchTokens));
  const usual = works.some(({ hasImages }) => hasImages) ? silenceWithImagesSeconds : silenceSeconds;
  return Math.round(Math.min(longestSilenceSeconds, Math.max(usual, reading)));
}

/** Between two images of one request it may be heard of. */
function isStillSeen({ hasImages, leftAt }: Work): boolean {
  return hasImages === true && performance.now() - leftAt < silenceWithImagesSeconds * 1000;
}
