import type { LoadPlan } from "@hearth-and-keep/engine";
import { estimateMemoryBytes, type MemoryNeed, type ModelSize } from "./memory-budget.ts";

/** How much context a request may use, whatever is loaded now, and what limits it. */
export type ContextWindow = { readonly tokens: number; readonly limitedBy: ContextLimit };

/** `engine`: a remote one, which has less than the server would use. */
export type ContextLimit = "model" | "request" | "setting" | "memory" | "engine";

export type WindowLimits = Pick<MemoryNeed, "cacheType"> & {
  readonly memoryBudgetBytes: number;
  /** The operator's limit for requests that set none. */
  readonly contextTokens: number | undefined;
};

export type WindowRequest = {
  readonly purpose: LoadPlan["purpose"];
  /** What the request or the model's parameters set. */
  readonly contextTokens?: number;
  readonly trainedContextTokens: number;
  readonly size: ModelSize;
  readonly settings?: Pick<LoadPlan, "cacheType">;
};

/** Loaded first; more only when a prompt or its output needs it. */
export const initialContextTokens = 8192;

/** What coding agents need at least; if there is not enough memory for it, the cache is quantized. */
const agentTokens = 32_768;
/** Values per block of a quantized cache. */
const quantizedBlock = 32;

/** A model that cannot have even this much within the budget is not loaded. */
const minWindowTokens = 2048;
/** Windows limited by memory are multiples of this. */
const windowStep = 1024;

/**
 * The window depends on the model, the request, the settings and the budget only: never on what other requests asked
 * for, nor on which models are loaded.
 */
export function findContextWindow(request: WindowRequest, limits: WindowLimits): ContextWindow {
  const candidates: readonly ContextWindow[] = [
    { tokens: request.trainedContextTokens, limitedBy: "model" },
    wantedWindow(request, limits),
    {
      tokens: tokensInMemory(request, { ...limits, cacheType: chooseCacheType(request, limits) }),
      limitedBy: "memory",
    },
  ];
  return candidates.reduce((smallest, each) => (each.tokens < smallest.tokens ? each : smallest));
}

/** Depends on the model and the machine only, so that every load of a model has the same. */
export function chooseCacheType(
  request: Pick<WindowRequest, "size" | "trainedContextTokens" | "purpose" | "settings">,
  limits: WindowLimits,
): LoadPlan["cacheType"] {
  const wanted = request.settings?.cacheType ?? limits.cacheType;
  const canQuantize = request.purpose === "generate" && request.size.headSize % quantizedBlock === 0;
  if (wanted !== undefined) return canQuantize ? wanted : "f16";
  const isTooLittle = tokensInMemory(request, limits) < Math.min(agentTokens, request.trainedContextTokens);
  return canQuantize && isTooLittle ? "q8_0" : undefined;
}

function wantedWindow(
  { contextTokens, purpose }: Pick<WindowRequest, "contextTokens" | "purpose">,
  limits: WindowLimits,
): ContextWindow {
  if (contextTokens !== undefined) return { tokens: contextTokens, limitedBy: "request" };
  // Texts to embed are cut to the context, so there is nothing that could ask for more.
  const unset = purpose === "generate" ? Number.POSITIVE_INFINITY : initialContextTokens;
  return { tokens: limits.contextTokens ?? unset, limitedBy: "setting" };
}

/** The largest context with which one sequence of the model fits into the whole budget. */
function tokensInMemory(
  { size }: Pick<WindowRequest, "size">,
  { cacheType, memoryBudgetBytes }: WindowLimits,
): number {
  const need = { size, cacheType };
  const bytesWithout = estimateMemoryBytes(need, { contextTokens: 0, sequences: 1 });
  const bytesPerStep = estimateMemoryBytes(need, { contextTokens: windowStep, sequences: 1 }) - bytesWithout;
  if (bytesPerStep === 0) return Number.POSITIVE_INFINITY;
  const steps = Math.floor((memoryBudgetBytes - bytesWithout) / bytesPerStep);
  return Math.max(minWindowTokens, steps * windowStep);
}

/**
 * The context to load for a request whose window is larger than what it needs: doubled until it is enough, so that a
 * growing conversation is loaded again only a few times.
 */
export function growContext(neededTokens: number, { tokens }: ContextWindow): number {
  let contextTokens = initialContextTokens;
  while (contextTokens < neededTokens) contextTokens *= 2;
  return Math.min(contextTokens, tokens);
}
