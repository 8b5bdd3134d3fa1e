import { basename } from "node:path";
import { FailureError } from "@hearth-and-keep/failures";
import { type ModelFile, ModelFileError } from "@hearth-and-keep/gguf";
import type { PlannedLayer } from "../keep-model.ts";
import { writeConfig } from "../metadata/config-blob.ts";
import { inspectModel } from "../metadata/header-reader.ts";
import { inspectWeights } from "../metadata/inspect-weights.ts";
import { refusePrivateDialect } from "../metadata/private-dialect.ts";
import { type ModelFailure, modelFailure } from "../model-failure.ts";
import { type BlobReference, findBlob, verifyBlob } from "../store/blob-store.ts";
import { parseDigest } from "../store/digest.ts";
import { makeLayer } from "../store/manifest.ts";
import { type ModelStores, writableStore } from "../store/model-store.ts";
import { type StagedContent, stageFile } from "../store/stage-content.ts";
import type { Origin } from "./take-model.ts";

/** One GGUF file or every part of a split one, and projectors and adapters beside it. */
export type FileSource =
  /** Digests of blobs that were stored before, by the names of their files. */
  | { readonly kind: "blobs"; readonly files: ReadonlyMap<string, string> }
  /** Of a split model the first part is enough. */
  | { readonly kind: "files"; readonly paths: readonly string[] };

export type GatherParts = {
  readonly stores: ModelStores;
  /** Ends what was staged and not kept. */
  readonly stack: AsyncDisposableStack;
};

/** A file that is there; what is in it was not looked at. */
export type LocatedFile = {
  readonly name: string;
  readonly path: string;
  readonly blob?: BlobReference;
};

type Role = "model" | "projector" | "adapter";
type Piece = LocatedFile & {
  readonly role: Role;
  /** Absent for a part of a split model, which is nothing by itself. */
  readonly header?: ModelFile;
};

const mostFiles = 4096;
const longestName = 255;

export async function locateFiles(source: FileSource, stores: ModelStores): Promise<readonly LocatedFile[]> {
  const count = source.kind === "blobs" ? source.files.size : source.paths.length;
  if (count === 0 || count > mostFiles) throw fileInvalid(`A model has from 1 to ${mostFiles} files`);
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

export async function gatherFiles(files: readonly LocatedFile[], parts: GatherParts): Promise<Origin> {
  const pieces = await openPieces(files, parts);
  const weights = pieces.filter(({ role }) => role === "model");
  const others = pieces.filter(({ role }) => role !== "model");
  for (const { header } of weights) if (header !== undefined) refusePrivateDialect(header);
  const { header, layers } = await joinWeights(weights, parts);
  for (const piece of others) layers.push(await plan(piece, parts));
  const families = others.flatMap((piece) => piece.header?.architecture ?? []);
  return {
    config: writeConfig(header, families),
    quantization: header.fileType,
    parameters: {},
    layersBeside: () => layers,
  };
}

export async function gatherAdapters(
  files: readonly LocatedFile[],
  parts: GatherParts,
): Promise<readonly PlannedLayer[]> {
  const pieces = await openPieces(files, parts);
  if (pieces.some(({ role }) => role !== "adapter")) throw fileInvalid("One of the adapters is none");
  const layers: PlannedLayer[] = [];
  for (const piece of pieces) layers.push(await plan(piece, parts));
  return layers;
}

async function openPieces(files: readonly LocatedFile[], { stores }: GatherParts): Promise<readonly Piece[]> {
  const pieces: Piece[] = [];
  for (const file of files) {
    if (file.blob !== undefined) await verifyForeign(stores, file.blob);
    pieces.push({ ...file, ...(await readRole(file.path)) });
  }
  return pieces;
}

/** In our own store everything was hashed before it got its name; what others wrote was not by us. */
async function verifyForeign(stores: ModelStores, blob: BlobReference): Promise<void> {
  const [own] = stores;
  const isOurs = own.access === "own" && (await findBlob([own], blob)) !== undefined;
  if (!isOurs) await verifyBlob(stores, blob);
}

/** What the header says that a file is for. */
async function readRole(path: string): Promise<Pick<Piece, "role" | "header">> {
  try {
    const header = await inspectModel(path);
    return { role: roleOf(header), header };
  } catch (problem) {
    const kind = problemOf(problem);
    // A blob has no name that tells which part it is, and a later part is no model by itself.
    if (kind === "split-inconsistent") return { role: "model" };
    if (kind !== "not-gguf") throw problem;
    throw fileInvalid("supplied file was not in GGUF format", { cause: problem });
  }
}

function problemOf(problem: unknown): string | undefined {
  const cause = problem instanceof FailureError ? problem.cause : undefined;
  return cause instanceof ModelFileError ? cause.problem.kind : undefined;
}

function roleOf({ metadata, architecture }: ModelFile): Role {
  const type = metadata.get("general.type")?.value;
  if (type === "adapter") return "adapter";
  return type === "mmproj" || type === "projector" || architecture === "clip" ? "projector" : "model";
}

type Weights = { readonly header: ModelFile; readonly layers: PlannedLayer[] };

async function joinWeights(pieces: readonly Piece[], parts: GatherParts): Promise<Weights> {
  const [first] = pieces;
  if (first === undefined) throw fileInvalid("None of the files is a model");
  return first.blob === undefined ? joinFiles(pieces, parts) : joinBlobs(pieces, parts);
}

async function joinFiles(pieces: readonly Piece[], parts: GatherParts): Promise<Weights> {
  const header = pieces.find((piece) => piece.header !== undefined)?.header;
  // Without one the first refusal is what there is to say.
  if (header === undefined)
    throw await inspectModel(pieces[0]?.path ?? "").catch((problem: unknown) => problem);
  const paths = header.split?.paths ?? [header.path];
  if (pieces.some(({ path }) => !paths.includes(path))) {
    throw fileInvalid("The files are not the parts of one model");
  }
  const layers: PlannedLayer[] = [];
  for (const path of paths) {
    const piece: Piece = { name: basename(path), path, role: "model" };
    layers.push(named(await plan(piece, parts), header.split === null ? undefined : piece.name));
  }
  return { header, layers };
}

async function joinBlobs(pieces: readonly Piece[], parts: GatherParts): Promise<Weights> {
  const layers: PlannedLayer[] = [];
  for (const piece of pieces) layers.push(named(await plan(piece, parts), piece.name.slice(-longestName)));
  const header = await inspectWeights(
    parts.stores,
    layers.map(({ layer }) => layer),
  );
  return { header, layers: header.split === null ? layers.map((layer) => named(layer, undefined)) : layers };
}

function named(
  { layer: { name: _name, ...layer }, ...rest }: PlannedLayer,
  name: string | undefined,
): PlannedLayer {
  return { ...rest, layer: { ...layer, ...(name === undefined ? {} : { name }) } };
}

async function plan({ path, role, blob }: Piece, { stores, stack }: GatherParts): Promise<PlannedLayer> {
  if (blob !== undefined) return { layer: makeLayer(role, blob) };
  const staged: StagedContent = stack.use(await stageFile(writableStore(stores), path));
  return { staged, layer: makeLayer(role, staged) };
}

function fileInvalid(reason: string, options?: ErrorOptions): FailureError<ModelFailure> {
  return modelFailure({ kind: "model-file-invalid", reason }, options);
}
