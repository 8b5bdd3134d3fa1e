import { openLiveRegion } from "./live-region.ts";
import { tellBytes, tellSeconds } from "./measures.ts";
import type { Screen } from "./screen.ts";
import { cutTo, padTo } from "./text-width.ts";
import { makeSafeLine } from "./untrusted-text.ts";

/** One step of a pull, a push, an upload or a creation. */
export type ProgressStep = {
  readonly status: string;
  readonly digest?: string;
  readonly total?: number;
  readonly completed?: number;
};

export type TransferProgress = {
  take(step: ProgressStep): void;
  /** Leaves what was drawn; nothing is drawn afterwards. */
  end(): void;
  /** What is there of the layers that were seen. */
  sums(): { readonly completed: number; readonly total: number };
};

type Layer = {
  readonly status: string;
  readonly total: number;
  /** Where it stood when its first number was heard: more than nothing when an earlier pull was left. */
  start?: number;
  startedAt: number;
  completed: number;
};

const drawEveryMilliseconds = 100;

/** In a terminal a bar for each layer; elsewhere one line when a layer begins and one when it is there. */
export function openTransferProgress(screen: Screen): TransferProgress {
  const rows: (string | Layer)[] = [];
  const layers = new Map<string, Layer>();
  const region = openLiveRegion(screen);
  const say = (text: string): void => {
    if (!screen.isTerminal) screen.line(text);
  };
  let drawnAt = 0;
  const draw = (): void => {
    if (!screen.isTerminal) return;
    drawnAt = performance.now();
    region.show(rows.map((row) => (typeof row === "string" ? row : drawLayer(row, screen))));
  };
  return {
    take(step) {
      const isNew =
        step.digest === undefined ? addWords(rows, step, say) : addLayer({ rows, layers, say }, step);
      if (isNew || performance.now() - drawnAt > drawEveryMilliseconds) draw();
    },
    end() {
      draw();
      region.keep();
    },
    sums: () => ({
      completed: layers.values().reduce((sum, { completed }) => sum + completed, 0),
      total: layers.values().reduce((sum, { total }) => sum + total, 0),
    }),
  };
}

function addWords(rows: (string | Layer)[], { status }: ProgressStep, say: (text: string) => void): boolean {
  const text = makeSafeLine(status);
  if (rows.at(-1) === text) return false;
  rows.push(text);
  say(text);
  return true;
}

type Drawing = {
  readonly rows: (string | Layer)[];
  readonly layers: Map<string, Layer>;
  readonly say: (text: string) => void;
};

function addLayer({ rows, layers, say }: Drawing, step: ProgressStep): boolean {
  const { digest = "", total = 0, completed } = step;
  const known = layers.get(digest);
  const layer = known ?? {
    status: makeSafeLine(step.status),
    total,
    startedAt: performance.now(),
    completed: 0,
  };
  if (known === undefined) {
    layers.set(digest, layer);
    rows.push(layer);
    say(`${layer.status}: ${tellBytes(total)}${completed === total ? ", already here" : ""}`);
  }
  if (completed !== undefined) addBytes(layer, { completed, isNew: known === undefined, say });
  return known === undefined;
}

type Added = { readonly completed: number; readonly isNew: boolean; readonly say: (text: string) => void };

function addBytes(layer: Layer, { completed, isNew, say }: Added): void {
  const wasWhole = layer.completed >= layer.total;
  if (layer.start === undefined) {
    layer.start = completed;
    layer.startedAt = performance.now();
    if (completed > 0 && completed < layer.total) say(`${layer.status}: ${tellStart(layer)}`);
  }
  layer.completed = Math.max(layer.completed, completed);
  if (!isNew && !wasWhole && layer.completed >= layer.total) say(`${layer.status}: done`);
}

function tellStart({ start = 0, total }: Layer): string {
  return start > 0 && start < total ? `resuming at ${percentOf(start, total)}` : "";
}

function percentOf(part: number, whole: number): string {
  return `${Math.floor((100 * part) / Math.max(1, whole))}%`;
}

/** The narrower the window, the fewer words; the bar takes what is left. */
function drawLayer(layer: Layer, screen: Screen): string {
  const columns = screen.columns() - 1;
  const { status, total, completed } = layer;
  const percent = percentOf(completed, total).padStart(4);
  const tail = [percent, tellSize(layer), tellSpeed(layer)].filter((text) => text !== "");
  while (tail.length > 1 && columns - status.length - tail.join("  ").length < 16) tail.pop();
  const words = tail.join("  ");
  const head = cutTo(status, Math.max(8, columns - words.length - 2));
  const room = Math.min(40, columns - head.length - words.length - 6);
  if (room < 4) return cutTo(`${head} ${words}`, columns);
  return `${padTo(head, head.length)} ${drawBar(completed / Math.max(1, total), room)} ${words}`;
}

function drawBar(share: number, columns: number): string {
  const filled = Math.max(0, Math.min(columns, Math.round(share * columns)));
  return `▕${"█".repeat(filled)}${" ".repeat(columns - filled)}▏`;
}

function tellSize({ completed, total }: Layer): string {
  return completed >= total ? tellBytes(total) : `${tellBytes(completed)}/${tellBytes(total)}`;
}

function tellSpeed(layer: Layer): string {
  const { completed, start = 0, total, startedAt } = layer;
  if (completed >= total) return "";
  const seconds = (performance.now() - startedAt) / 1000;
  const rate = (completed - start) / Math.max(0.001, seconds);
  const resumed = tellStart(layer);
  if (seconds < 0.5 || rate <= 0) return resumed;
  const speed = `${tellBytes(rate)}/s  ${tellSeconds((total - completed) / rate)}`;
  return resumed === "" ? speed : `${speed}  ${resumed}`;
}
