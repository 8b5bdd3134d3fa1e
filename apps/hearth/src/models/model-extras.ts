import { maxTextBytes } from "./metadata/describe-model.ts";
import type { StoredMessage } from "./metadata/messages.ts";
import { parseValidParameters } from "./metadata/model-parameters.ts";
import { maxMessageBytes, maxParameterBytes } from "./metadata/schema.ts";
import { modelFailure } from "./model-failure.ts";
import { encodeGoJson, type LayerKind } from "./store/manifest.ts";
import type { JsonObject } from "./store/parse-json.ts";

/** Everything in a model besides its weights. */
export type ModelExtras = {
  readonly template?: string;
  readonly system?: string;
  readonly licenses?: readonly string[];
  /** By Ollama's names, e.g. `num_ctx`. */
  readonly parameters?: JsonObject;
  readonly messages?: readonly StoredMessage[];
};

export type SmallLayer = { readonly kind: LayerKind; readonly bytes: Buffer };

const maxBytes: Readonly<Partial<Record<LayerKind, number>>> = {
  params: maxParameterBytes,
  messages: maxMessageBytes,
};

/** Creates layers in Ollama's order; empty texts get none. Layers that could not be read back later are rejected. */
export function createExtraLayers(extras: ModelExtras): readonly SmallLayer[] {
  const { template = "", system = "", licenses = [], parameters = {}, messages = [] } = extras;
  const { entries } = parseValidParameters(parameters);
  const layers: SmallLayer[] = [
    { kind: "template", bytes: Buffer.from(template) },
    { kind: "system", bytes: Buffer.from(system) },
    ...licenses.map((license) => ({ kind: "license" as const, bytes: Buffer.from(license) })),
    ...(entries.length === 0
      ? []
      : [{ kind: "params" as const, bytes: encodeGoJson(Object.fromEntries(entries)) }]),
    ...(messages.length === 0 ? [] : [{ kind: "messages" as const, bytes: encodeGoJson(messages) }]),
  ];
  return layers.filter(({ bytes }) => bytes.length > 0).map(rejectLong);
}

function rejectLong(layer: SmallLayer): SmallLayer {
  const limit = maxBytes[layer.kind] ?? maxTextBytes;
  if (layer.bytes.length <= limit) return layer;
  const reason = `it must have at most ${limit} bytes`;
  throw modelFailure({ kind: "parameter-invalid", parameter: layer.kind, reason });
}
