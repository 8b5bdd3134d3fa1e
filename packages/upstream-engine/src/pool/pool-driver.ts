import type { Engine, EngineDescription, EngineDriver, EngineFailure } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import { type DialectName, dialects } from "../remote/dialects.ts";
import type { GatewayOptions } from "../remote/gateway-headers.ts";
import { createRemoteEngine, type RemoteFacts } from "../remote/remote-engine.ts";
import { createEngineClient } from "../wire/engine-client.ts";
import { type Discovery, labelOf, listAddresses, refreshMembers, resolveName } from "./discovery.ts";
import { EnginePool, type EnginePoolOptions } from "./engine-pool.ts";
import { type KubernetesPlan, listPods } from "./kubernetes.ts";

/** A model that runs on remote engines. */
export type PoolPlan = {
  readonly dialect: DialectName;
  /** The engines' name for the model; by default the first one that an engine lists. */
  readonly model?: string;
  readonly engines:
    | { readonly type: "addresses"; readonly addresses: readonly URL[] }
    | { readonly type: "dns"; readonly address: URL }
    | ({ readonly type: "kubernetes" } & KubernetesPlan);
  /** The API key for all engines. */
  readonly key?: string;
  /** By default, the engines are queried. */
  readonly contextTokens?: number;
  readonly requestsPerEngine: number;
  readonly canSeeImages: boolean;
  readonly canHearAudio: boolean;
  /** Set if the engines are behind an llm-d gateway. */
  readonly gateway?: GatewayOptions;
};

/** Overrides for tests. */
export type PoolOverrides = Partial<Pick<EnginePoolOptions, "choose" | "discovery" | "timeouts">>;

export function createEnginePool(plan: PoolPlan, overrides: PoolOverrides = {}): EnginePool {
  const dialect = dialects[plan.dialect];
  const { model, canSeeImages, canHearAudio, gateway, requestsPerEngine: maxRequestsPerEngine } = plan;
  return new EnginePool({
    maxRequestsPerEngine,
    discovery: discoveryOf(plan),
    ...overrides,
    connect: (address) => {
      const client = createEngineClient({
        address,
        // In addition to its requests it gets health checks and token counts.
        maxConnections: maxRequestsPerEngine + 16,
        ...(plan.key === undefined ? {} : { authorization: `Bearer ${plan.key}` }),
      });
      const facts = { dialect, canSeeImages, canHearAudio, gateway, ...(model && { model }) };
      const engine = createRemoteEngine(client, facts);
      return { label: labelOf(address), engine, close: () => client[Symbol.dispose]() };
    },
  });
}

function discoveryOf({ engines }: PoolPlan): Discovery {
  switch (engines.type) {
    case "addresses":
      return listAddresses(engines.addresses);
    case "dns":
      return refreshMembers(resolveName(engines.address));
    case "kubernetes":
      return refreshMembers(listPods(engines));
  }
}

export type NamedPool = { readonly plan: PoolPlan; readonly pool: EnginePool };

/** Reported for an engine with an unknown context size; prompts are not truncated to it. */
const unknownContextTokens = 4096;

/** Driver for plans with `remote`: loads nothing, but waits until an engine responds. */
export function createPoolDriver(pools: ReadonlyMap<string, NamedPool>): EngineDriver {
  return {
    async load({ remote = "" }, { signal, onProgress, onSequencesChange: onSequences }) {
      const named = pools.get(remote);
      if (named === undefined) throw new FailureError<EngineFailure>({ kind: "engine-unloaded" });
      const facts = await named.pool.ready(signal);
      onProgress(1);
      const description = describe(named.plan, facts);
      return createHandle(named, { description, onSequences: () => onSequences?.() });
    },
  };
}

type HandleOptions = {
  readonly onSequences: () => void;
  readonly description: Omit<EngineDescription, "sequences">;
};

/** One load of a pool's model. Unloading it aborts the requests made through it and does not affect the pool. */
function createHandle({ pool }: NamedPool, { description, onSequences }: HandleOptions): Engine {
  const lifetime = new AbortController();
  const closed = Promise.withResolvers<EngineFailure | undefined>();
  const combine = (signal: AbortSignal): AbortSignal => AbortSignal.any([signal, lifetime.signal]);
  const subscription = pool.watchSlots(onSequences);
  const unload = async (): Promise<void> => {
    subscription.unsubscribe();
    lifetime.abort(new FailureError<EngineFailure>({ kind: "engine-unloaded" }));
    closed.resolve(undefined);
  };
  return {
    describe: () => ({ ...description, sequences: pool.slots }),
    generate: (request, signal) => pool.generate(request, combine(signal)),
    embed: (request, signal) =>
      pool.runOnce((engine, combined) => engine.embed(request, combined), combine(signal), request.onAddress),
    rank: () =>
      Promise.reject(new FailureError<EngineFailure>({ kind: "not-supported", feature: "ranking" })),
    tokenize: (text, signal = lifetime.signal) =>
      pool.query((engine, combined) => engine.tokenize(text, combined), combine(signal)),
    render: (conversation) =>
      pool.query((engine, combined) => engine.render(conversation, combined), lifetime.signal),
    count: (conversation, signal = lifetime.signal) =>
      pool.query((engine, combined) => engine.count(conversation, combined), combine(signal)),
    unload,
    closed: closed.promise,
    [Symbol.asyncDispose]: unload,
  };
}

function describe(plan: PoolPlan, facts: RemoteFacts): HandleOptions["description"] {
  const knownContextTokens = plan.contextTokens ?? facts.contextTokens;
  const contextTokens = knownContextTokens ?? unknownContextTokens;
  const { supportsTools, chatTemplate } = facts;
  return {
    driver: plan.dialect,
    metadata: {},
    chatTemplate,
    templateCapabilities: supportsTools === undefined ? undefined : { tools: supportsTools, thinking: true },
    trainedContextTokens: contextTokens,
    contextTokens,
    isContextEstimated: knownContextTokens === undefined,
    threads: 0,
    gpu: false,
    memoryBytes: { model: 0, context: 0 },
    splitsEvents: true,
    limitsReasoning: dialects[plan.dialect].reasoningLimitField !== undefined,
    canFillInTheMiddle: dialects[plan.dialect].supportsSuffix,
    canSeeImages: plan.canSeeImages,
    canHearAudio: plan.canHearAudio,
  };
}
