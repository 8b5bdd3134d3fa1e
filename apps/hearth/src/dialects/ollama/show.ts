import type { ModelFile } from "@hearth-and-keep/gguf";
import { type Answer, jsonAnswer } from "@hearth-and-keep/http-service";
import type { HearthCall, HearthParts } from "../../dependencies.ts";
import type { ModelDescription } from "../../models/metadata/describe-model.ts";
import { type FlatValue, flattenMetadata } from "../../models/metadata/flatten-metadata.ts";
import { writeModelfile, writeParameters } from "./modelfile.ts";
import { requireName } from "./resolve-model.ts";
import type { ShowBody } from "./schema.ts";
import { writeDetails } from "./write-model.ts";

/** Told elsewhere in the same answer. */
const leftOut = new Set(["general.name", "tokenizer.chat_template"]);

export async function answerShow(call: HearthCall<ShowBody>, { models }: HearthParts): Promise<Answer> {
  const name = requireName(call.body);
  const model = await models.describe(name);
  const file = await models.inspect(name);
  const projector = await models.inspectProjector(name);
  const isVerbose = call.body.verbose === true;
  const facts = flattenMetadata(file.metadata, isVerbose);
  return jsonAnswer({
    ...writeShown(model, file, writeFacts(facts, { call, name, file })),
    ...(projector === undefined ? {} : { projector_info: writeProjector(projector, isVerbose) }),
  });
}

function writeShown(
  model: ModelDescription,
  file: ModelFile,
  modelInfo: Readonly<Record<string, FlatValue>>,
) {
  const { licenses, parameters, template, chatTemplate, system, messages } = model;
  return {
    ...(licenses.length === 0 ? {} : { license: licenses.join("\n") }),
    modelfile: writeModelfile(model),
    ...(parameters.written.length === 0 ? {} : { parameters: writeParameters(parameters.written) }),
    // Without a template of Ollama's the model file's own is what renders, so it is what is shown.
    template: template ?? chatTemplate ?? "",
    ...(system === null ? {} : { system }),
    details: writeDetails(model.details),
    ...(messages.length === 0 ? {} : { messages }),
    model_info: modelInfo,
    tensors: file.tensors.map(({ name, type, shape }) => ({ name, type, shape })),
    capabilities: model.capabilities,
    modified_at: model.modifiedAt,
  };
}

type FactParts = {
  readonly call: HearthCall<ShowBody>;
  readonly name: string;
  readonly file: ModelFile;
};

function writeProjector(file: ModelFile, isVerbose: boolean): Readonly<Record<string, FlatValue>> {
  const facts = flattenMetadata(file.metadata, isVerbose);
  return { ...Object.fromEntries(facts), "general.parameter_count": file.parameterCount };
}

/** Sorted by name. VS Code's chat lists models by `general.basename`, so it is given the name it asked for. */
function writeFacts(
  facts: ReadonlyMap<string, FlatValue>,
  { call, name, file }: FactParts,
): Readonly<Record<string, FlatValue>> {
  const isCopilot = String(call.headers["user-agent"] ?? "").startsWith("GitHubCopilotChat/");
  const all = new Map<string, FlatValue>([
    ...facts,
    ["general.parameter_count", file.parameterCount],
    ...(isCopilot ? [["general.basename", name] as const] : []),
  ]);
  const kept = [...all].filter(([key]) => !leftOut.has(key));
  return Object.fromEntries(kept.toSorted(([one], [other]) => (one < other ? -1 : 1)));
}
