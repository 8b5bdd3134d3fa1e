import type { Engine, EngineDescription, EngineDriver, EngineFailure } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import { type DialectName, dialects } from "../remote/dialects.ts";
import { createRemoteEngine, type RemoteFacts } from "../remote/remote-engine.ts";
import { createEngineClient } from "../wire/engine-client.ts";
import { type Discovery, labelOf, listAddresses, refreshMembers, resolveName } from "./discovery.ts";
import { EnginePool, type EnginePoolOptions } from "./engine-pool.ts";
import { type KubernetesPlan, listPods } from "./kubernetes.ts";

/** A model that runs on engines elsewhere. */
export type PoolPlan = {
  readonly dialect: DialectName;
  /** What the engines call it; absent takes the first that an engine lists. */
  readonly model?: string;
  readonly engines:
    | { readonly type: "addresses"; readonly addresses: readonly URL[] }
    | { readonly type: "dns"; readonly address: URL }
    | ({ readonly type: "kubernetes" } & KubernetesPlan);
  /** A key for all of them. */
  readonly key?: string;
  /** Absent asks the engines. */
  readonly contextTokens?: number;
  readonly requestsPerEngine: number;
  readonly canSeeImages: boolean;
};

/** What a test decides itself. */
export type PoolChoices = Partial<Pick<EnginePoolOptions, "choose" | "discovery" | "patience">>;

export function createEnginePool(plan: PoolPlan, choices: PoolChoices = {}): EnginePool {
  const dialect = dialects[plan.dialect];
  const { model, canSeeImages, requestsPerEngine: mostRequests } = plan;
  return new EnginePool({
    mostRequests,
    discovery: discoveryOf(plan),
    ...choices,
    connect: (address) => {
      const client = createEngineClient({
        address,
        // Beside its requests it is asked how it is, and how long texts are.
        mostConnections: mostRequests + 16,
        ...(plan.key === undefined ? {} : { authorization: `Bearer ${plan.key}` }),
      });
      const engine = createRemoteEngine(client, { dialect, canSeeImages, ...(model && { model }) });
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

/** Told for an engine that tells nothing of its context; nothing is fitted to it. */
const unknownContextTokens = 4096;

/** Loads what plans call `remote`: nothing is loaded, an engine that answers is waited for. */
export function createPoolDriver(pools: ReadonlyMap<string, NamedPool>): EngineDriver {
  return {
    async load({ remote = "" }, { signal, onProgress, onSequencesChange: onSequences }) {
      const named = pools.get(remote);
      if (named === undefined) throw new FailureError<EngineFailure>({ kind: "engine-unloaded" });
      const facts = await named.pool.ready(signal);
      onProgress(1);
      const description = describe(named.plan, facts);
      return handleOf(named, { description, onSequences: () => onSequences?.() });
    },
  };
}

type HandleParts = {
  readonly onSequences: () => void;
  readonly description: Omit<EngineDescription, "sequences">;
};

/** One load of a pool's model: ending it ends the requests that came through it, and leaves the pool as it is. */
function handleOf({ pool }: NamedPool, { description, onSequences }: HandleParts): Engine {
  const life = new AbortController();
  const ending = Promise.withResolvers<EngineFailure | undefined>();
  const either = (signal: AbortSignal): AbortSignal => AbortSignal.any([signal, life.signal]);
  const watched = pool.watchPlaces(onSequences);
  const unload = async (): Promise<void> => {
    watched.leave();
    life.abort(new FailureError<EngineFailure>({ kind: "engine-unloaded" }));
    ending.resolve(undefined);
  };
  return {
    describe: () => ({ ...description, sequences: pool.places }),
    generate: (request, signal) => pool.generate(request, either(signal)),
    embed: (request, signal) => pool.once((engine, both) => engine.embed(request, both), either(signal)),
    rank: () =>
      Promise.reject(new FailureError<EngineFailure>({ kind: "not-supported", feature: "ranking" })),
    tokenize: (text, signal = life.signal) =>
      pool.consult((engine, both) => engine.tokenize(text, both), either(signal)),
    render: (conversation) => pool.consult((engine, both) => engine.render(conversation, both), life.signal),
    count: (conversation, signal = life.signal) =>
      pool.consult((engine, both) => engine.count(conversation, both), either(signal)),
    unload,
    closed: ending.promise,
    [Symbol.asyncDispose]: unload,
  };
}

function describe(plan: PoolPlan, facts: RemoteFacts): HandleParts["description"] {
  const told = plan.contextTokens ?? facts.contextTokens;
  const contextTokens = told ?? unknownContextTokens;
  const { knowsTools, chatTemplate } = facts;
  return {
    driver: plan.dialect,
    metadata: {},
    chatTemplate,
    templateCapabilities: knowsTools === undefined ? undefined : { tools: knowsTools, thinking: true },
    trainedContextTokens: contextTokens,
    contextTokens,
    isContextEstimated: told === undefined,
    threads: 0,
    gpu: false,
    memoryBytes: { model: 0, context: 0 },
    splitsEvents: true,
    canFillInTheMiddle: dialects[plan.dialect].takesSuffix,
    canSeeImages: plan.canSeeImages,
  };
}
