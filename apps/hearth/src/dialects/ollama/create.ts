import type { HttpResponse } from "@hearth-and-keep/http-service";
import type { HearthDependencies, HearthRequest } from "../../dependencies.ts";
import { invalidField, toRequestFailure } from "../../failures.ts";
import type { CreateModelRequest, CreateStep } from "../../models/create/create-model.ts";
import type { ModelExtras } from "../../models/model-extras.ts";
import { modelFailure } from "../../models/model-failure.ts";
import { tryParseModelName } from "../../models/model-name.ts";
import { nameOf } from "./resolve-model.ts";
import type { CreateBody } from "./schema.ts";
import { type ProgressStatus, progressResponse, writeTransferStatus } from "./transfer-status.ts";
import { digestOfName, unloadOrphan } from "./unload-orphans.ts";

/** Creates a model `from` another one, or from `files` that were uploaded as blobs. */
export async function handleCreate(
  request: HearthRequest<CreateBody>,
  dependencies: HearthDependencies,
): Promise<HttpResponse> {
  const createRequest = readRequest(request.body);
  request.addLogFields({ model: createRequest.name });
  return progressResponse(request, create(createRequest, request, dependencies));
}

function readRequest(body: CreateBody): CreateModelRequest {
  const name = nameOf(body);
  if (tryParseModelName(name) === undefined) throw invalidField("", "invalid model name");
  const quantization = body.quantize || body.quantization;
  return {
    name,
    source: readSource(body),
    extras: readExtras(body),
    ...(body.adapters ? { adapters: readFiles(body.adapters) } : {}),
    ...(quantization ? { quantization } : {}),
  };
}

function readSource({ from, files }: CreateBody): CreateModelRequest["source"] {
  if (from) return { kind: "model", name: from };
  if (!files) throw modelFailure({ kind: "model-source-missing" });
  return readFiles(files);
}

function readFiles(files: Readonly<Record<string, string>>) {
  const entries = Object.entries(files);
  if (entries.length === 0) throw invalidField("", "no files provided to convert");
  if (entries.some(([file]) => /^[/\\]|^$|(?:^|[/\\])\.{1,2}(?:[/\\]|$)/u.test(file)))
    throw invalidField("", "file path must be relative");
  return { kind: "blobs", files: new Map(entries) } as const;
}

function readExtras({ template, system, license, parameters, messages }: CreateBody): ModelExtras {
  return {
    ...(template ? { template } : {}),
    ...(system ? { system } : {}),
    ...(license ? { licenses: typeof license === "string" ? [license] : license } : {}),
    ...(parameters ? { parameters } : {}),
    ...(messages
      ? { messages: messages.map(({ role, content }) => ({ role, content: content ?? "" })) }
      : {}),
  };
}

async function* create(
  createRequest: CreateModelRequest,
  request: HearthRequest<CreateBody>,
  dependencies: HearthDependencies,
): AsyncGenerator<ProgressStatus> {
  const { name, source } = createRequest;
  if (source.kind === "model") yield* pullIfMissing(source.name, request, dependencies);
  const previousDigest = await digestOfName(name, dependencies);
  for await (const step of dependencies.models.create(createRequest)) yield { status: writeStatus(step) };
  await unloadOrphan(previousDigest, dependencies);
  yield { status: "success" };
}

async function* pullIfMissing(
  name: string,
  { signal }: HearthRequest,
  dependencies: HearthDependencies,
): AsyncGenerator<ProgressStatus> {
  try {
    await dependencies.models.describe(name);
  } catch (error) {
    if (toRequestFailure(error).kind !== "model-not-found") throw error;
    for await (const step of dependencies.transfers.pull({ name, isInsecure: false, signal })) {
      yield writeTransferStatus(step, "pull");
    }
  }
}

/** Uses Ollama's exact texts, which clients match. */
function writeStatus(step: CreateStep): string {
  switch (step.step) {
    case "reading-file":
      return "parsing GGUF";
    case "saving-layer":
      return `${step.isNew ? "creating new" : "using existing"} layer ${step.digest}`;
    case "writing-manifest":
      return "writing manifest";
  }
}
