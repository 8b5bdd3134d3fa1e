import { mostTextBytes } from "./metadata/describe-model.ts";
import { mostMessageBytes, type StoredMessage } from "./metadata/messages.ts";
import { mostParameterBytes, requireParameters } from "./metadata/model-parameters.ts";
import { modelFailure } from "./model-failure.ts";
import type { JsonFields } from "./store/json-fields.ts";
import type { LayerKind } from "./store/manifest.ts";
import { writeJson } from "./store/write-json.ts";

/** What a model carries besides its weights. */
export type ModelExtras = {
  readonly template?: string;
  readonly system?: string;
  readonly licenses?: readonly string[];
  /** By Ollama's names, as in `num_ctx`. */
  readonly parameters?: JsonFields;
  readonly messages?: readonly StoredMessage[];
};

export type SmallLayer = { readonly kind: LayerKind; readonly bytes: Buffer };

const mostBytes: Readonly<Partial<Record<LayerKind, number>>> = {
  params: mostParameterBytes,
  messages: mostMessageBytes,
};

/** Their layers, in Ollama's order; an empty text is none. What we could not read again is refused. */
export function layOutExtras(extras: ModelExtras): readonly SmallLayer[] {
  const { template = "", system = "", licenses = [], parameters = {}, messages = [] } = extras;
  const { written } = requireParameters(parameters);
  const layers: SmallLayer[] = [
    { kind: "template", bytes: Buffer.from(template) },
    { kind: "system", bytes: Buffer.from(system) },
    ...licenses.map((license) => ({ kind: "license" as const, bytes: Buffer.from(license) })),
    ...(written.length === 0
      ? []
      : [{ kind: "params" as const, bytes: writeJson(Object.fromEntries(written)) }]),
    ...(messages.length === 0 ? [] : [{ kind: "messages" as const, bytes: writeJson(messages) }]),
  ];
  return layers.filter(({ bytes }) => bytes.length > 0).map(refuseLong);
}

function refuseLong(layer: SmallLayer): SmallLayer {
  const most = mostBytes[layer.kind] ?? mostTextBytes;
  if (layer.bytes.length <= most) return layer;
  const reason = `it must have at most ${most} bytes`;
  throw modelFailure({ kind: "parameter-invalid", parameter: layer.kind, reason });
}
