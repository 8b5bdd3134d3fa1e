import { type FolderComparison, folderComparison } from "@hearth-and-keep/vault-contract";
import { folderOf, type VaultContext } from "../open-context.ts";
import { type NamedValue, requestValues } from "../read-values.ts";
import { type Change, shown } from "./compare-versions.ts";

export type FolderDifference = {
  readonly left: string;
  readonly right: string;
  /** Every secret, by its path in both folders. */
  readonly items: readonly ComparedItem[];
};

type Compared = FolderComparison["items"][number];

/** The change is absent unless values are shown and differ. */
type ComparedItem = Compared & { readonly change?: Change };

export type ComparedFolders = {
  /** Environments, or folders from the root of the vault. */
  readonly left: string;
  readonly right: string;
  /** Within the environments. */
  readonly folder: string | undefined;
  readonly isRevealing: boolean;
};

/** The server compares; values are read only to be shown. */
export async function compareFolders(
  { left, right, folder, isRevealing }: ComparedFolders,
  context: VaultContext,
): Promise<FolderDifference> {
  const sides = { left: sideOf(left, folder), right: sideOf(right, folder) };
  const { items } = await context.client.request(`/api/secrets/vaults/${context.vaultId}/compare`, {
    shape: folderComparison,
    query: sides,
    subject: `${sides.left} and ${sides.right}`,
  });
  const isDifferent = items.some(({ outcome }) => outcome !== "same");
  return { ...sides, items: isRevealing && isDifferent ? await addValues(items, sides, context) : items };
}

function sideOf(text: string, folder: string | undefined): string {
  return text.startsWith("/") ? folderOf(undefined, text) : folderOf(text, folder);
}

async function addValues(
  items: readonly Compared[],
  sides: { readonly left: string; readonly right: string },
  context: VaultContext,
): Promise<readonly ComparedItem[]> {
  const isInheriting = items.some(({ inherited }) => inherited !== undefined);
  const read = (folder: string) => readFolder({ ...context, folder, isInheriting });
  const [left, right] = [await read(sides.left), await read(sides.right)];
  return items.map((item) => {
    if (item.outcome === "same") return item;
    const [one, other] = [left.get(item.path), right.get(item.path)];
    return { ...item, change: { left: one && shown(one), right: other && shown(other) } };
  });
}

/** By the path in the folder. */
async function readFolder(context: VaultContext): Promise<ReadonlyMap<string, NamedValue>> {
  const response = await requestValues({ expand: undefined, isRecursive: true }, context);
  const items = response.isUnchanged ? [] : response.body.items;
  const start = context.folder === "/" ? 1 : context.folder.length + 1;
  return new Map(items.map((item) => [item.path.slice(start), item]));
}
