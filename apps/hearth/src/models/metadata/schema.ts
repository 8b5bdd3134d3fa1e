import { Type } from "typebox";
import { orNull, shortText } from "../store/schema.ts";

export const maxMessageBytes = 4 * 1024 * 1024;
export const maxParameterBytes = 256 * 1024;

const names = orNull(Type.Array(shortText, { maxItems: 64 }));

/** The configuration blob of a model, as Ollama writes it. */
export const configSchema = Type.Object({
  model_format: orNull(shortText),
  model_family: orNull(shortText),
  model_families: names,
  model_type: orNull(shortText),
  file_type: orNull(shortText),
  capabilities: names,
  remote_host: orNull(shortText),
});

/** The `messages` layer of a model. */
export const messagesSchema = Type.Array(
  Type.Object({
    role: Type.Enum(["system", "user", "assistant"]),
    content: orNull(Type.String({ maxLength: maxMessageBytes })),
  }),
  { maxItems: 4096 },
);

/** Bounded by the size of the layer; model-parameters.ts checks each parameter on its own. */
export const parametersSchema = Type.Record(
  Type.String({ maxLength: maxParameterBytes }),
  // Values of unknown parameters are kept as they are.
  Type.Unknown(),
  { maxProperties: maxParameterBytes },
);
