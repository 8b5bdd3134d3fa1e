import { padToWidth, type Screen, sanitizeLine, truncateToWidth } from "@hearth-and-keep/terminal";
import { formatBytes, formatDuration } from "./format-units.ts";
import { openLiveRegion } from "./live-region.ts";

/** One step of a pull, a push, an upload or a creation. */
export type ProgressStep = {
  readonly status: string;
  readonly digest?: string;
  readonly total?: number;
  readonly completed?: number;
};

export type TransferProgress = {
  update(step: ProgressStep): void;
  /** Draws the final state and keeps it on the screen. */
  close(): void;
  /** Bytes of all layers seen so far. */
  totals(): { readonly completed: number; readonly total: number };
};

type Layer = {
  readonly status: string;
  readonly total: number;
  /** Bytes completed at the first update; more than 0 if an earlier transfer was interrupted. */
  resumedFrom?: number;
  startedAt: number;
  completed: number;
};

const drawIntervalMilliseconds = 100;

/** Shows a progress bar per layer in a terminal; elsewhere, prints one line when a layer starts and one when it is done. */
export function openTransferProgress(screen: Screen): TransferProgress {
  const rows: (string | Layer)[] = [];
  const layers = new Map<string, Layer>();
  const region = openLiveRegion(screen);
  const printPlain = (text: string): void => {
    if (!screen.isTerminal) screen.writeLine(text);
  };
  let drawnAt = 0;
  const draw = (): void => {
    if (!screen.isTerminal) return;
    drawnAt = performance.now();
    region.show(rows.map((row) => (typeof row === "string" ? row : renderLayer(row, screen))));
  };
  return {
    update(step) {
      const isNew =
        step.digest === undefined
          ? addStatus(rows, step, printPlain)
          : updateLayer({ rows, layers, printPlain }, step);
      if (isNew || performance.now() - drawnAt > drawIntervalMilliseconds) draw();
    },
    close() {
      draw();
      region.commit();
    },
    totals: () => ({
      completed: layers.values().reduce((sum, { completed }) => sum + completed, 0),
      total: layers.values().reduce((sum, { total }) => sum + total, 0),
    }),
  };
}

function addStatus(
  rows: (string | Layer)[],
  { status }: ProgressStep,
  printPlain: (text: string) => void,
): boolean {
  const text = sanitizeLine(status);
  if (rows.at(-1) === text) return false;
  rows.push(text);
  printPlain(text);
  return true;
}

type ProgressState = {
  readonly rows: (string | Layer)[];
  readonly layers: Map<string, Layer>;
  readonly printPlain: (text: string) => void;
};

/** Returns whether the layer is new. */
function updateLayer({ rows, layers, printPlain }: ProgressState, step: ProgressStep): boolean {
  const { digest = "", total = 0, completed } = step;
  const existing = layers.get(digest);
  const layer = existing ?? {
    status: sanitizeLine(step.status),
    total,
    startedAt: performance.now(),
    completed: 0,
  };
  const isNew = existing === undefined;
  if (isNew) {
    layers.set(digest, layer);
    rows.push(layer);
    printPlain(`${layer.status}: ${formatBytes(total)}${completed === total ? ", already present" : ""}`);
  }
  if (completed !== undefined) updateCompleted(layer, { completed, isNew, printPlain });
  return isNew;
}

type LayerUpdate = {
  readonly completed: number;
  readonly isNew: boolean;
  readonly printPlain: (text: string) => void;
};

function updateCompleted(layer: Layer, { completed, isNew, printPlain }: LayerUpdate): void {
  const wasComplete = layer.completed >= layer.total;
  if (layer.resumedFrom === undefined) {
    layer.resumedFrom = completed;
    layer.startedAt = performance.now();
    if (completed > 0 && completed < layer.total) printPlain(`${layer.status}: ${formatResume(layer)}`);
  }
  layer.completed = Math.max(layer.completed, completed);
  if (!isNew && !wasComplete && layer.completed >= layer.total) printPlain(`${layer.status}: done`);
}

function formatResume({ resumedFrom = 0, total }: Layer): string {
  return resumedFrom > 0 && resumedFrom < total ? `resuming at ${formatPercent(resumedFrom, total)}` : "";
}

function formatPercent(part: number, whole: number): string {
  return `${Math.floor((100 * part) / Math.max(1, whole))}%`;
}

/** The bar uses the columns that the text leaves; a narrow window omits speed and size. */
function renderLayer(layer: Layer, screen: Screen): string {
  const columns = screen.columns() - 1;
  const { status, total, completed } = layer;
  const percent = formatPercent(completed, total).padStart(4);
  const tail = [percent, formatSize(layer), formatSpeed(layer)].filter((text) => text !== "");
  while (tail.length > 1 && columns - status.length - tail.join("  ").length < 16) tail.pop();
  const figures = tail.join("  ");
  const head = truncateToWidth(status, Math.max(8, columns - figures.length - 2));
  const barColumns = Math.min(40, columns - head.length - figures.length - 6);
  if (barColumns < 4) return truncateToWidth(`${head} ${figures}`, columns);
  const bar = renderBar(completed / Math.max(1, total), barColumns);
  return `${padToWidth(head, head.length)} ${bar} ${figures}`;
}

function renderBar(share: number, columns: number): string {
  const filled = Math.max(0, Math.min(columns, Math.round(share * columns)));
  return `▕${"█".repeat(filled)}${" ".repeat(columns - filled)}▏`;
}

function formatSize({ completed, total }: Layer): string {
  return completed >= total ? formatBytes(total) : `${formatBytes(completed)}/${formatBytes(total)}`;
}

function formatSpeed(layer: Layer): string {
  const { completed, resumedFrom = 0, total, startedAt } = layer;
  if (completed >= total) return "";
  const seconds = (performance.now() - startedAt) / 1000;
  const rate = (completed - resumedFrom) / Math.max(0.001, seconds);
  const resumed = formatResume(layer);
  if (seconds < 0.5 || rate <= 0) return resumed;
  const speed = `${formatBytes(rate)}/s  ${formatDuration((total - completed) / rate)}`;
  return resumed === "" ? speed : `${speed}  ${resumed}`;
}
