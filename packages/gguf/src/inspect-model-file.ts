import { describeModelFile, type ModelFile } from "./metadata/model-file.ts";
import { type FileHeader, readFileHeader } from "./reading/read-file-header.ts";
import type { Header } from "./reading/read-header.ts";
import type { Tensor } from "./reading/read-tensors.ts";
import { checkMeaning } from "./validation/check-metadata.ts";
import { disagreement, findSplit, type Split } from "./validation/check-split.ts";

/**
 * Reads and checks everything of a model file that native code would believe; throws ModelFileError otherwise.
 * All parts of a split model are checked, and the first one must be given. The file can still be changed by
 * someone between this check and the load, which is why the engine runs apart.
 */
export async function inspectModelFile(path: string): Promise<ModelFile> {
  const file = await readFileHeader(path);
  const { architecture, split } = checkHeader(file.header, path);
  const tensors = split === null ? file.header.tensors : await gatherParts(file, split);
  return describeModelFile({ path, ...file, architecture, split, tensors });
}

type Verdict = { readonly architecture: string | null; readonly split: Split | null };

/** The checks of one header; apart from reading, so that mutants need no file. */
export function checkHeader({ metadata }: Header, path: string): Verdict {
  return { architecture: checkMeaning(metadata), split: findSplit(metadata, path) };
}

async function gatherParts(first: FileHeader, split: Split): Promise<readonly Tensor[]> {
  if (split.part !== 1) {
    throw disagreement(
      `The file is part ${split.part} of ${split.parts}; a model is opened by its first part`,
    );
  }
  const tensors = [...first.header.tensors];
  for (const path of split.paths.slice(1)) {
    const { header } = await readFileHeader(path);
    checkHeader(header, path);
    tensors.push(...header.tensors);
  }
  const names = new Set(tensors.map(({ name }) => name));
  if (names.size !== tensors.length) throw disagreement("The parts of the model hold the same tensor twice");
  return tensors;
}
