import type { ModelStore } from "../store/model-store.ts";
import type { ModelDescription } from "./describe-model.ts";
import { markFile } from "./file-stamp.ts";
import { LeastRecentlyUsed } from "./least-recently-used.ts";
import type { StoredModel } from "./stored-model.ts";

type Remembered = { readonly description: ModelDescription; readonly marks: readonly FileMark[] };
/** A file as it was when it was read. */
type FileMark = { readonly path: string; readonly mark: string };

const mostRemembered = 256;

export type DescribingSteps = {
  readonly find: (name: string) => Promise<StoredModel>;
  readonly describe: (model: StoredModel) => Promise<ModelDescription>;
};

/**
 * Describes a model anew only when its manifest or one of its files has changed, because every request asks. Only
 * names of the first store are remembered: one of a store below it may be covered by a new one above at any time.
 */
export function rememberDescriptions(
  first: ModelStore,
  { find, describe }: DescribingSteps,
): (name: string) => Promise<ModelDescription> {
  const known = new LeastRecentlyUsed<Remembered>(mostRemembered);
  return async (name) => {
    const remembered = known.get(name);
    if (remembered !== undefined && (await isUnchanged(remembered.marks))) return remembered.description;
    known.delete(name);
    const model = await find(name);
    const manifest = { path: model.place.path, mark: await markOf(model.place.path) };
    const description = await describe(model);
    if (model.place.store === first) {
      const files = filesOf(description).map(async (path) => ({ path, mark: await markOf(path) }));
      const marks = [manifest, ...(await Promise.all(files))];
      known.set(name, { description, marks });
    }
    return description;
  };
}

function filesOf({ modelPath, projectorPaths, adapterPaths }: ModelDescription): readonly string[] {
  return [modelPath, ...projectorPaths, ...adapterPaths];
}

async function isUnchanged(marks: readonly FileMark[]): Promise<boolean> {
  const present = await Promise.all(marks.map(({ path }) => markOf(path)));
  return present.every((mark, index) => mark === marks[index]?.mark);
}

/** Empty when there is no such file. */
function markOf(path: string): Promise<string> {
  return markFile(path).catch(() => "");
}
