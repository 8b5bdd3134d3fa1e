import { askLines, asProblem, type ServerProblem } from "../server-api/api-client.ts";
import { loadModels } from "./models.ts";
import { createStore } from "./store.ts";

export type Layer = { readonly digest: string; readonly total: number; readonly completed: number };

export type Pull = {
  readonly name: string;
  readonly isPlain: boolean;
  readonly state: "running" | "done" | "failed" | "cancelled";
  /** In the server's words. */
  readonly status: string;
  readonly layers: readonly Layer[];
  /** Over the last seconds. */
  readonly bytesPerSecond: number;
  readonly problem?: ServerProblem;
};

type ProgressLine = {
  readonly status: string;
  readonly digest?: string;
  readonly total?: number;
  readonly completed?: number;
};

/** By name, in the order they were begun. */
export const pulls = createStore<ReadonlyMap<string, Pull>>(new Map());
const controllers = new Map<string, AbortController>();

function change(name: string, how: (pull: Pull) => Pull): void {
  pulls.set((all) => {
    const known = all.get(name);
    return known === undefined ? all : new Map(all).set(name, how(known));
  });
}

/** What another pull of it left is taken up again by the server. */
export async function startPull(name: string, isPlain = false): Promise<void> {
  if (pulls.get().get(name)?.state === "running") return;
  const controller = new AbortController();
  controllers.set(name, controller);
  const begun: Pull = { name, isPlain, state: "running", status: "", layers: [], bytesPerSecond: 0 };
  pulls.set((all) => new Map(all).set(name, begun));
  try {
    await follow(name, isPlain, controller.signal);
    change(name, (pull) => ({ ...pull, state: "done" }));
    await loadModels();
  } catch (thrown) {
    change(name, (pull) =>
      controller.signal.aborted
        ? { ...pull, state: "cancelled" }
        : { ...pull, state: "failed", problem: asProblem(thrown) },
    );
  }
}

async function follow(name: string, isPlain: boolean, signal: AbortSignal): Promise<void> {
  const body = { model: name, stream: true, ...(isPlain ? { insecure: true } : {}) };
  const speed = createSpeed();
  for await (const line of askLines<ProgressLine>("/api/pull", { method: "POST", body, signal })) {
    change(name, (pull) => {
      const layers = withLine(pull.layers, line);
      const bytesPerSecond = speed(layers.reduce((sum, { completed }) => sum + completed, 0));
      return { ...pull, status: line.status, layers, bytesPerSecond };
    });
  }
}

function withLine(
  layers: readonly Layer[],
  { digest, total, completed = 0 }: ProgressLine,
): readonly Layer[] {
  if (digest === undefined || total === undefined) return layers;
  const layer = { digest, total, completed };
  const isKnown = layers.some((other) => other.digest === digest);
  return isKnown ? layers.map((other) => (other.digest === digest ? layer : other)) : [...layers, layer];
}

const speedMilliseconds = 3000;

function createSpeed(): (bytes: number) => number {
  let marks: { readonly at: number; readonly bytes: number }[] = [];
  return (bytes) => {
    const now = performance.now();
    marks = [...marks.filter(({ at }) => now - at < speedMilliseconds), { at: now, bytes }];
    const [first] = marks;
    const elapsed = now - (first?.at ?? now);
    return elapsed < 200 ? 0 : ((bytes - (first?.bytes ?? bytes)) / elapsed) * 1000;
  };
}

export function cancelPull(name: string): void {
  controllers.get(name)?.abort();
}

export function forgetPull(name: string): void {
  pulls.set((all) => new Map([...all].filter(([other]) => other !== name)));
}
