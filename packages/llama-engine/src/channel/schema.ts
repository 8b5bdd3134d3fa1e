import { type TSchema, Type } from "typebox";
import { Compile, type Validator } from "typebox/compile";
import type { FromWorker } from "./messages.ts";

const maxItems = 4_000_000;
/** The limit of a frame applies to all texts in it. */
const text = Type.String({ maxLength: 64 * 1024 * 1024 });
const name = Type.String({ maxLength: 10_000 });
const number = Type.Number({ minimum: -(2 ** 53), maximum: 2 ** 53 });
/** Metrics reject negative numbers. */
const count = Type.Integer({ minimum: 0, maximum: 2 ** 53 });
const duration = Type.Number({ minimum: 0, maximum: 2 ** 53 });
const boolean = Type.Boolean();
const literal = <Value extends string>(value: Value) => Type.Literal(value);

const tokenFields = { token: number, text, logProbability: number };
const tokenProbability = Type.Object({
  ...tokenFields,
  alternatives: Type.Array(Type.Object(tokenFields), { maxItems: 1000 }),
});

const event = Type.Union([
  Type.Object({ type: literal("prompt-progress"), evaluated: count, total: count, cached: count }),
  Type.Object({
    type: literal("text-delta"),
    text,
    outputTokens: Type.Optional(count),
    tokens: Type.Optional(Type.Array(tokenProbability, { maxItems: 10_000 })),
  }),
  Type.Object({
    type: literal("generation-end"),
    reason: Type.Union([literal("stop"), literal("length")]),
    usage: Type.Object({
      promptTokens: count,
      cachedTokens: count,
      outputTokens: count,
      guessedTokens: Type.Optional(count),
      acceptedTokens: Type.Optional(count),
    }),
    timings: Type.Object({ promptMilliseconds: duration, outputMilliseconds: duration }),
  }),
]);

/** The failures that a worker finds itself; the others describe the worker. */
const failure = Type.Union([
  Type.Object({ kind: literal("model-invalid"), reason: text }),
  Type.Object({ kind: literal("insufficient-memory"), neededBytes: Type.Union([number, Type.Null()]) }),
  Type.Object({ kind: literal("prompt-too-long"), promptTokens: count, contextTokens: count }),
  Type.Object({ kind: literal("template-failed"), reason: text }),
  Type.Object({ kind: literal("schema-unsupported"), keyword: text, location: text }),
  Type.Object({ kind: literal("grammar-invalid"), reason: text }),
  Type.Object({ kind: literal("image-unreadable") }),
  Type.Object({ kind: literal("not-supported"), feature: name }),
  Type.Object({ kind: literal("gpu-failed"), reason: name }),
]);

const measuredMemory = Type.Object({ residentBytes: count, peakBytes: count });

const description = Type.Object({
  driver: name,
  // Any JSON: the server only shows it.
  metadata: Type.Record(name, Type.Unknown(), { maxProperties: 100_000 }),
  chatTemplate: Type.Union([text, Type.Null()]),
  templateCapabilities: Type.Optional(Type.Object({ tools: boolean, thinking: boolean })),
  trainedContextTokens: count,
  contextTokens: count,
  sequences: count,
  threads: count,
  gpu: Type.Union([name, Type.Literal(false)]),
  gpuDevice: Type.Optional(name),
  gpuBytes: Type.Optional(count),
  memoryBytes: Type.Object({ model: count, context: count }),
  measuredMemory: Type.Optional(measuredMemory),
  splitsEvents: boolean,
  canFillInTheMiddle: boolean,
  embedsBesideGeneration: Type.Optional(boolean),
  canSeeImages: boolean,
  canHearAudio: boolean,
});

const tokens = Type.Array(Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1 }), { maxItems });
const promptCacheRequest = Type.Union([
  Type.Object({ kind: literal("find"), partition: name, prompt: tokens, cachedTokens: count }),
  Type.Object({ kind: literal("restored"), isUsable: boolean }),
  Type.Object({ kind: literal("keep"), partition: name, tokens, bytes: count }),
]);

const fromWorker = lazyCheck(
  Type.Union([
    Type.Object({ type: literal("events"), id: number, events: Type.Array(event, { maxItems: 10_000 }) }),
    Type.Object({
      type: literal("heartbeat"),
      threads: Type.Optional(count),
      samplingSeconds: duration,
      measuredMemory: Type.Optional(measuredMemory),
    }),
    Type.Object({ type: literal("load-progress"), fraction: number }),
    Type.Object({ type: literal("loaded"), description }),
    Type.Object({ type: literal("load-failed"), failure }),
    // Checked by `isResultOf`, once the call is known.
    Type.Object({ type: literal("result"), id: number, value: Type.Unknown() }),
    Type.Object({ type: literal("failure"), id: number, failure }),
    Type.Object({ type: literal("error"), id: number, reason: text }),
    Type.Object({ type: literal("prompt-cache"), request: promptCacheRequest }),
  ]),
);

export function isFromWorker(value: unknown): value is FromWorker {
  return fromWorker(value);
}

const numbers = Type.Array(number, { maxItems });
const results = {
  /** Each vector is the base64 text of its 32-bit floats. */
  embed: lazyCheck(Type.Object({ vectors: Type.Array(text, { maxItems: 100_000 }), tokens: count })),
  rank: lazyCheck(numbers),
  tokenize: lazyCheck(numbers),
  render: lazyCheck(text),
  count: lazyCheck(count),
  "keep-prompts": lazyCheck(count),
} as const;

/** The result of each kind of call, as it arrives from the worker. */
export type CallResults = {
  readonly embed: { readonly vectors: readonly string[]; readonly tokens: number };
  readonly rank: readonly number[];
  readonly tokenize: readonly number[];
  readonly render: string;
  readonly count: number;
  readonly "keep-prompts": number;
};

export function isResultOf<Type extends keyof CallResults>(
  type: Type,
  value: unknown,
): value is CallResults[Type] {
  return results[type](value);
}

/** Compiled by its first use, so that the server does not start later. */
function lazyCheck(schema: TSchema): (value: unknown) => boolean {
  let validator: Validator | undefined;
  return (value) => {
    validator ??= Compile(schema);
    return validator.Check(value);
  };
}
