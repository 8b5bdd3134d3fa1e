import { type RequestError, streamLines, toRequestError } from "../server-api/api-client.ts";
import { loadModels } from "./models.ts";
import { createStore } from "./store.ts";

export type Layer = { readonly digest: string; readonly total: number; readonly completed: number };

export type Pull = {
  readonly name: string;
  readonly isInsecure: boolean;
  readonly state: "running" | "done" | "failed" | "paused";
  /** The server's status text. */
  readonly status: string;
  readonly layers: readonly Layer[];
  /** Average of the last seconds. */
  readonly bytesPerSecond: number;
  readonly error?: RequestError;
};

type ProgressLine = {
  readonly status: string;
  readonly digest?: string;
  readonly total?: number;
  readonly completed?: number;
};

/** By model name, in the order they were started. */
export const pulls = createStore<ReadonlyMap<string, Pull>>(new Map());
const controllers = new Map<string, AbortController>();

function update(name: string, change: (pull: Pull) => Pull): void {
  pulls.set((all) => {
    const pull = all.get(name);
    return pull === undefined ? all : new Map(all).set(name, change(pull));
  });
}

/** Starts or resumes a pull; the server keeps the bytes of an earlier attempt. */
export async function startPull(name: string, isInsecure = false): Promise<void> {
  if (pulls.get().get(name)?.state === "running") return;
  const controller = new AbortController();
  controllers.set(name, controller);
  const started: Pull = { name, isInsecure, state: "running", status: "", layers: [], bytesPerSecond: 0 };
  pulls.set((all) => new Map(all).set(name, started));
  try {
    await readProgress(name, isInsecure, controller.signal);
    update(name, (pull) => ({ ...pull, state: "done" }));
    await loadModels();
  } catch (error) {
    update(name, (pull) =>
      controller.signal.aborted
        ? { ...pull, state: "paused" }
        : { ...pull, state: "failed", error: toRequestError(error) },
    );
  }
}

async function readProgress(name: string, isInsecure: boolean, signal: AbortSignal): Promise<void> {
  const body = { model: name, stream: true, ...(isInsecure ? { insecure: true } : {}) };
  const measureSpeed = createSpeedMeter();
  for await (const line of streamLines<ProgressLine>("/api/pull", { method: "POST", body, signal })) {
    update(name, (pull) => {
      const layers = withProgress(pull.layers, line);
      const bytesPerSecond = measureSpeed(layers.reduce((sum, { completed }) => sum + completed, 0));
      return { ...pull, status: line.status, layers, bytesPerSecond };
    });
  }
}

function withProgress(
  layers: readonly Layer[],
  { digest, total, completed = 0 }: ProgressLine,
): readonly Layer[] {
  if (digest === undefined || total === undefined) return layers;
  const layer = { digest, total, completed };
  const isListed = layers.some((other) => other.digest === digest);
  return isListed ? layers.map((other) => (other.digest === digest ? layer : other)) : [...layers, layer];
}

const speedWindowMilliseconds = 3000;

/** Returns a function that turns byte counts into bytes per second, averaged over the window. */
function createSpeedMeter(): (bytes: number) => number {
  let samples: { readonly at: number; readonly bytes: number }[] = [];
  return (bytes) => {
    const now = performance.now();
    samples = [...samples.filter(({ at }) => now - at < speedWindowMilliseconds), { at: now, bytes }];
    const [first] = samples;
    const elapsed = now - (first?.at ?? now);
    return elapsed < 200 ? 0 : ((bytes - (first?.bytes ?? bytes)) / elapsed) * 1000;
  };
}

export function pausePull(name: string): void {
  controllers.get(name)?.abort();
}

export function dismissPull(name: string): void {
  pulls.set((all) => new Map([...all].filter(([other]) => other !== name)));
}
