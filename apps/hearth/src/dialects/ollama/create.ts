import type { Answer } from "@hearth-and-keep/http-service";
import type { HearthCall, HearthParts } from "../../dependencies.ts";
import { asRequestFailure, requestFailure } from "../../failures.ts";
import type { CreatingStep, ModelOrder } from "../../models/create/create-model.ts";
import type { ModelExtras } from "../../models/model-extras.ts";
import { modelFailure } from "../../models/model-failure.ts";
import { readModelName } from "../../models/model-name.ts";
import { answerProgress } from "./answer-progress.ts";
import { nameOf } from "./resolve-model.ts";
import type { CreateBody } from "./schema.ts";
import { type Status, writeTransferStep } from "./transfer-status.ts";
import { digestNamed, unloadUnnamed } from "./unload-orphans.ts";

/** Of what it is made is told by its fields: `from` another model, or `files` that were uploaded as blobs. */
export async function answerCreate(call: HearthCall<CreateBody>, parts: HearthParts): Promise<Answer> {
  const order = readOrder(call.body);
  call.note({ model: order.name });
  return answerProgress(call, create(order, call, parts));
}

function readOrder(body: CreateBody): ModelOrder {
  const name = nameOf(body);
  if (readModelName(name) === undefined) throw refused("invalid model name");
  const quantization = body.quantize || body.quantization;
  return {
    name,
    origin: readOrigin(body),
    extras: readExtras(body),
    ...(body.adapters ? { adapters: readFiles(body.adapters) } : {}),
    ...(quantization ? { quantization } : {}),
  };
}

function readOrigin({ from, files }: CreateBody): ModelOrder["origin"] {
  if (from) return { kind: "model", name: from };
  if (!files) throw modelFailure({ kind: "model-of-nothing" });
  return readFiles(files);
}

function readFiles(files: Readonly<Record<string, string>>) {
  const entries = Object.entries(files);
  if (entries.length === 0) throw refused("no files provided to convert");
  if (entries.some(([file]) => /^[/\\]|^$|(?:^|[/\\])\.{1,2}(?:[/\\]|$)/u.test(file)))
    throw refused("file path must be relative");
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
  order: ModelOrder,
  call: HearthCall<CreateBody>,
  parts: HearthParts,
): AsyncGenerator<Status> {
  if (order.origin.kind === "model") yield* fetchMissing(order.origin.name, call, parts);
  const before = await digestNamed(order.name, parts);
  for await (const step of parts.models.create(order)) yield { status: tell(step) };
  await unloadUnnamed(before, parts);
  yield { status: "success" };
}

/** A model that is not here is pulled first. */
async function* fetchMissing(
  name: string,
  { signal }: HearthCall,
  parts: HearthParts,
): AsyncGenerator<Status> {
  try {
    await parts.models.describe(name);
  } catch (problem) {
    if (asRequestFailure(problem).kind !== "model-not-found") throw problem;
    for await (const step of parts.transfers.pull({ name, isInsecure: false, signal })) {
      yield writeTransferStep(step, "pull");
    }
  }
}

function tell(step: CreatingStep): string {
  switch (step.step) {
    case "reading-file":
      return "parsing GGUF";
    case "keeping-layer":
      return `${step.isNew ? "creating new" : "using existing"} layer ${step.digest}`;
    case "writing-manifest":
      return "writing manifest";
  }
}

function refused(reason: string): Error {
  return requestFailure({ kind: "request-invalid", place: "", reason });
}
