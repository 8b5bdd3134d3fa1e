import { describeModelFile, type ModelFile } from "./metadata/model-file.ts";
import { type FileHeader, readFileHeader } from "./reading/read-file-header.ts";
import type { Header } from "./reading/read-header.ts";
import type { Tensor } from "./reading/read-tensors.ts";
import { checkMetadata } from "./validation/check-metadata.ts";
import { findSplit, type Split, splitError } from "./validation/check-split.ts";

/**
 * Reads a model file and checks everything in it that native code trusts; throws ModelFileError if a check fails.
 * For a split model, pass the first part; all parts are checked. The file can still change between this check and the
 * load, which is why the engine runs in a separate process.
 */
export async function inspectModelFile(path: string): Promise<ModelFile> {
  const file = await readFileHeader(path);
  const { architecture, split } = checkHeader(file.header, path);
  const tensors = split === null ? file.header.tensors : await collectTensors(file, split);
  return describeModelFile({ path, ...file, architecture, split, tensors });
}

type HeaderCheck = { readonly architecture: string | null; readonly split: Split | null };

/** Checks one header. Separate from reading, so that tests can check mutants without writing files. */
export function checkHeader({ metadata }: Header, path: string): HeaderCheck {
  return { architecture: checkMetadata(metadata), split: findSplit(metadata, path) };
}

async function collectTensors(first: FileHeader, split: Split): Promise<readonly Tensor[]> {
  if (split.part !== 1) {
    throw splitError(
      `The file is part ${split.part} of ${split.partCount} of a split model; open the first part instead`,
    );
  }
  const tensors = [...first.header.tensors];
  for (const path of split.paths.slice(1)) {
    const { header } = await readFileHeader(path);
    checkHeader(header, path);
    tensors.push(...header.tensors);
  }
  const names = new Set(tensors.map(({ name }) => name));
  if (names.size !== tensors.length) throw splitError("Two parts of the model contain the same tensor");
  return tensors;
}
