import type { EngineFailure } from "@hearth-and-keep/llama-engine";
import type { EngineClient } from "../wire/engine-client.ts";

/** What a question is about, as far as it excuses silence. */
export type Asked = { readonly isConstrained?: boolean; readonly hasImages?: boolean };

export type EngineWatch = {
  /** From here on somebody waits, until what it gives back is called. */
  enter(asked: Asked): () => void;
  heard(): void;
  stop(): void;
};

const silenceSeconds = 10;
/** An image is looked at in one piece, which takes long on a processor. */
const silenceWithImagesSeconds = 120;
const lookEveryMilliseconds = 500;
const quietMilliseconds = 1000;

/**
 * Finds out an engine that has stopped working though its process lives. It is asked for its slots while it is quiet,
 * because that answer comes from the loop that computes; another thread would call itself healthy whatever happens.
 * A valid grammar can be so ambiguous that choosing a token takes for ever; the model is not to blame for that.
 */
export function watchEngine(client: EngineClient, onHung: (failure: EngineFailure) => void): EngineWatch {
  const underWay = new Set<Asked>();
  const end = new AbortController();
  let heardAt = performance.now();
  let isAsking = false;
  const look = async (): Promise<void> => {
    isAsking = true;
    try {
      await client.ask({ path: "/slots" }, end.signal);
      heardAt = performance.now();
    } catch {
      // No answer is what the time since the last one tells.
    } finally {
      isAsking = false;
    }
  };
  const timer = setInterval(() => {
    if (underWay.size === 0) return;
    const silence = performance.now() - heardAt;
    if (silence > quietMilliseconds && !isAsking) void look();
    const seconds = [...underWay].some(({ hasImages }) => hasImages)
      ? silenceWithImagesSeconds
      : silenceSeconds;
    if (silence <= seconds * 1000) return;
    const isConstrained = [...underWay].some((asked) => asked.isConstrained);
    onHung({ kind: isConstrained ? "grammar-too-slow" : "engine-hung", seconds });
  }, lookEveryMilliseconds);
  timer.unref();
  return {
    enter(asked) {
      if (underWay.size === 0) heardAt = performance.now();
      const entry = { ...asked };
      underWay.add(entry);
      return () => void underWay.delete(entry);
    },
    heard: () => void (heardAt = performance.now()),
    stop() {
      clearInterval(timer);
      end.abort();
    },
  };
}
