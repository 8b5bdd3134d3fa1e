import type { ModelFile } from "@hearth-and-keep/gguf";
import { type HttpResponse, jsonResponse } from "@hearth-and-keep/http-service";
import type { HearthDependencies, HearthRequest } from "../../dependencies.ts";
import type { ModelDescription } from "../../models/metadata/describe-model.ts";
import { type FlatValue, flattenMetadata, type LazyList } from "../../models/metadata/flatten-metadata.ts";
import { effectiveContextTokens } from "../../scheduling/load-request.ts";
import { writeModelfile, writeParameters } from "./modelfile.ts";
import { requireName } from "./resolve-model.ts";
import type { ShowBody } from "./schema.ts";
import { streamJson } from "./stream-json.ts";
import { writeDetails } from "./write-model.ts";

/** Available elsewhere in the same response. */
const omittedKeys = new Set(["general.name", "tokenizer.chat_template"]);

export async function handleShow(
  request: HearthRequest<ShowBody>,
  { models, scheduler }: HearthDependencies,
): Promise<HttpResponse> {
  const name = requireName(request.body);
  const model = await models.describe(name);
  const file = await models.inspect(name);
  const projector = await models.inspectProjector(name);
  const isVerbose = request.body.verbose === true;
  const metadata = flattenMetadata(file.metadata, isVerbose);
  const body = {
    ...writeModel(model, {
      file,
      modelInfo: writeModelInfo(metadata, { request, name, file }),
      parameters: writeParameterText(model, effectiveContextTokens(model, scheduler)),
    }),
    ...(projector === undefined ? {} : { projector_info: writeProjector(projector, isVerbose) }),
  };
  return isVerbose ? streamJson(body) : jsonResponse(body);
}

type WrittenInfo = Readonly<Record<string, FlatValue | LazyList>>;

type WrittenParts = {
  readonly file: ModelFile;
  readonly modelInfo: WrittenInfo;
  readonly parameters: string | undefined;
};

function writeModel(model: ModelDescription, { file, modelInfo, parameters }: WrittenParts) {
  const { licenses, template, chatTemplate, system, messages } = model;
  return {
    ...(licenses.length === 0 ? {} : { license: licenses.join("\n") }),
    modelfile: writeModelfile(model),
    ...(parameters === undefined ? {} : { parameters }),
    // Models without an Ollama template are rendered with the one in the model file.
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

/**
 * Clients read the context length here, or what the model was trained on from its metadata: if memory or a setting
 * allows less, only this line tells them.
 */
function writeParameterText(
  { parameters: { entries }, trainedContextTokens }: ModelDescription,
  contextTokens: number | null,
): string | undefined {
  const isSet = entries.some(([name]) => name === "num_ctx");
  const isLess = contextTokens !== null && contextTokens < (trainedContextTokens ?? 0);
  const all = isSet || !isLess ? entries : [...entries, ["num_ctx", contextTokens] as const];
  return all.length === 0 ? undefined : writeParameters(all);
}

type ModelInfoContext = {
  readonly request: HearthRequest<ShowBody>;
  readonly name: string;
  readonly file: ModelFile;
};

function writeProjector(file: ModelFile, isVerbose: boolean): WrittenInfo {
  const metadata = flattenMetadata(file.metadata, isVerbose);
  return { ...Object.fromEntries(metadata), "general.parameter_count": file.parameterCount };
}

/** Sorted by key. VS Code's chat shows `general.basename` as the model's name, so it gets the requested name. */
function writeModelInfo(
  metadata: ReadonlyMap<string, FlatValue | LazyList>,
  { request, name, file }: ModelInfoContext,
): WrittenInfo {
  const isCopilot = String(request.headers["user-agent"] ?? "").startsWith("GitHubCopilotChat/");
  const all = new Map<string, FlatValue | LazyList>([
    ...metadata,
    ["general.parameter_count", file.parameterCount],
    ...(isCopilot ? [["general.basename", name] as const] : []),
  ]);
  const entries = [...all].filter(([key]) => !omittedKeys.has(key));
  return Object.fromEntries(entries.toSorted(([one], [other]) => (one < other ? -1 : 1)));
}
