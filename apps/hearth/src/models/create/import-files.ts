import { basename } from "node:path";
import { FailureError } from "@hearth-and-keep/failures";
import { type ModelFile, ModelFileError } from "@hearth-and-keep/gguf";
import { encodeConfig } from "../metadata/config-blob.ts";
import { inspectModel } from "../metadata/header-reader.ts";
import { inspectWeights } from "../metadata/inspect-weights.ts";
import { rejectPrivateDialect } from "../metadata/private-dialect.ts";
import { type ModelFailure, modelFailure } from "../model-failure.ts";
import type { PlannedLayer } from "../save-model.ts";
import { type BlobReference, findBlob, verifyBlob } from "../store/blob-store.ts";
import { parseDigest } from "../store/digest.ts";
import { createLayer } from "../store/manifest.ts";
import { type ModelStores, writableStore } from "../store/model-store.ts";
import { copyToStaging, type StagedContent } from "../store/staged-content.ts";
import type { ModelBase } from "./base-model.ts";

/** One GGUF file or all shards of a split one, optionally with projectors and adapters. */
export type FileSource =
  /** Digests of uploaded blobs, by file name. */
  | { readonly kind: "blobs"; readonly files: ReadonlyMap<string, string> }
  /** For a split model the path of the first shard is enough. */
  | { readonly kind: "files"; readonly paths: readonly string[] };

export type ImportContext = {
  readonly stores: ModelStores;
  /** Disposes staged content that was not committed. */
  readonly stack: AsyncDisposableStack;
};

/** An existing file whose content has not been read yet. */
export type LocatedFile = {
  readonly name: string;
  readonly path: string;
  readonly blob?: BlobReference;
};

type Role = "model" | "projector" | "adapter";
type SourceFile = LocatedFile & {
  readonly role: Role;
  /** Absent for the later shards of a split model, which cannot be read on their own. */
  readonly header?: ModelFile;
};

const maxFiles = 4096;
const maxNameLength = 255;

export async function locateFiles(source: FileSource, stores: ModelStores): Promise<readonly LocatedFile[]> {
  const count = source.kind === "blobs" ? source.files.size : source.paths.length;
  if (count === 0 || count > maxFiles) throw fileInvalid(`A model must have between 1 and ${maxFiles} files`);
  if (source.kind === "files") return source.paths.map((path) => ({ name: basename(path), path }));
  const files: LocatedFile[] = [];
  for (const [file, text] of source.files) {
    const found = await findBlob(stores, { digest: parseDigest(text) });
    if (found === undefined) throw modelFailure({ kind: "blob-missing", digest: text });
    const { digest, size, path } = found;
    files.push({ name: basename(file), path, blob: { digest, size } });
  }
  return files;
}

export async function importFiles(files: readonly LocatedFile[], context: ImportContext): Promise<ModelBase> {
  const sourceFiles = await readSourceFiles(files, context);
  const weights = sourceFiles.filter(({ role }) => role === "model");
  const others = sourceFiles.filter(({ role }) => role !== "model");
  for (const { header } of weights) if (header !== undefined) rejectPrivateDialect(header);
  const { header, layers } = await joinWeights(weights, context);
  for (const file of others) layers.push(await planLayer(file, context));
  const families = others.flatMap((file) => file.header?.architecture ?? []);
  return {
    config: encodeConfig(header, families),
    quantization: header.fileType,
    parameters: {},
    layersExcept: () => layers,
  };
}

export async function importAdapters(
  files: readonly LocatedFile[],
  context: ImportContext,
): Promise<readonly PlannedLayer[]> {
  const adapters = await readSourceFiles(files, context);
  if (adapters.some(({ role }) => role !== "adapter")) {
    throw fileInvalid("One of the adapter files is not an adapter");
  }
  const layers: PlannedLayer[] = [];
  for (const adapter of adapters) layers.push(await planLayer(adapter, context));
  return layers;
}

async function readSourceFiles(
  files: readonly LocatedFile[],
  { stores }: ImportContext,
): Promise<readonly SourceFile[]> {
  const sourceFiles: SourceFile[] = [];
  for (const file of files) {
    if (file.blob !== undefined) await verifyForeign(stores, file.blob);
    sourceFiles.push({ ...file, ...(await readRole(file.path)) });
  }
  return sourceFiles;
}

/** Blobs in our own store were hashed before they were named; those in other stores may not have been. */
async function verifyForeign(stores: ModelStores, blob: BlobReference): Promise<void> {
  const [own] = stores;
  const isOurs = own.access === "own" && (await findBlob([own], blob)) !== undefined;
  if (!isOurs) await verifyBlob(stores, blob);
}

/** The role of a file according to its header. */
async function readRole(path: string): Promise<Pick<SourceFile, "role" | "header">> {
  try {
    const header = await inspectModel(path);
    return { role: roleOf(header), header };
  } catch (error) {
    const kind = failureKindOf(error);
    // A later shard cannot be read on its own, and a blob has no file name that shows which shard it is.
    if (kind === "split-inconsistent") return { role: "model" };
    if (kind !== "not-gguf") throw error;
    throw fileInvalid("supplied file was not in GGUF format", { cause: error });
  }
}

function failureKindOf(error: unknown): string | undefined {
  const cause = error instanceof FailureError ? error.cause : undefined;
  return cause instanceof ModelFileError ? cause.detail.kind : undefined;
}

function roleOf({ metadata, architecture }: ModelFile): Role {
  const type = metadata.get("general.type")?.value;
  if (type === "adapter") return "adapter";
  return type === "mmproj" || type === "projector" || architecture === "clip" ? "projector" : "model";
}

type Weights = { readonly header: ModelFile; readonly layers: PlannedLayer[] };

async function joinWeights(files: readonly SourceFile[], context: ImportContext): Promise<Weights> {
  const [first] = files;
  if (first === undefined) throw fileInvalid("None of the files contains a model");
  return first.blob === undefined ? joinFiles(files, context) : joinBlobs(files, context);
}

async function joinFiles(files: readonly SourceFile[], context: ImportContext): Promise<Weights> {
  const header = files.find((file) => file.header !== undefined)?.header;
  // Without a readable header, the first file's own error is the most useful one to report.
  if (header === undefined) {
    throw await inspectModel(files[0]?.path ?? "").catch((error: unknown) => error);
  }
  const paths = header.split?.paths ?? [header.path];
  if (files.some(({ path }) => !paths.includes(path))) {
    throw fileInvalid("The files are not the shards of one model");
  }
  const layers: PlannedLayer[] = [];
  for (const path of paths) {
    const file: SourceFile = { name: basename(path), path, role: "model" };
    layers.push(withName(await planLayer(file, context), header.split === null ? undefined : file.name));
  }
  return { header, layers };
}

async function joinBlobs(files: readonly SourceFile[], context: ImportContext): Promise<Weights> {
  const layers: PlannedLayer[] = [];
  for (const file of files) {
    layers.push(withName(await planLayer(file, context), file.name.slice(-maxNameLength)));
  }
  const header = await inspectWeights(
    context.stores,
    layers.map(({ layer }) => layer),
  );
  return {
    header,
    layers: header.split === null ? layers.map((layer) => withName(layer, undefined)) : layers,
  };
}

function withName(
  { layer: { name: _name, ...layer }, ...rest }: PlannedLayer,
  name: string | undefined,
): PlannedLayer {
  return { ...rest, layer: { ...layer, ...(name === undefined ? {} : { name }) } };
}

async function planLayer(
  { path, role, blob }: SourceFile,
  { stores, stack }: ImportContext,
): Promise<PlannedLayer> {
  if (blob !== undefined) return { layer: createLayer(role, blob) };
  const staged: StagedContent = stack.use(await copyToStaging(writableStore(stores), path));
  return { staged, layer: createLayer(role, staged) };
}

function fileInvalid(reason: string, options?: ErrorOptions): FailureError<ModelFailure> {
  return modelFailure({ kind: "model-file-invalid", reason }, options);
}
