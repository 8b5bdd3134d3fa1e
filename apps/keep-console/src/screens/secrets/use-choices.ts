import { go } from "@hearth-and-keep/page-design";
import type { SecretMetadata, SecretValue } from "@hearth-and-keep/vault-contract";
import type { MenuChoice } from "../../design/menu.tsx";
import { useToasts } from "../../design/toasts.tsx";
import { ask, KeepProblem } from "../../vault-api/api-client.ts";
import { asKeepProblem } from "../../vault-api/use-mutation.ts";
import { secretPath, valuePath } from "./api-paths.ts";
import type { Deed } from "./dialogs.tsx";
import type { Entry } from "./list-row.tsx";
import { goTo, type SecretsPlace } from "./secrets-location.ts";
import type { VaultContents } from "./vault-contents.ts";

export type ChoicesParts = {
  readonly place: SecretsPlace;
  readonly contents: VaultContents;
  readonly onDeed: (deed: Deed) => void;
};

/** Brings a deleted secret back, and tells so. */
export function useRestore({
  place,
  contents,
}: Omit<ChoicesParts, "onDeed">): (secret: SecretMetadata) => void {
  const { tell } = useToasts();
  const { vaultId = "" } = place;
  const restore = async ({ id, name, revision }: SecretMetadata): Promise<void> => {
    try {
      await ask(`${secretPath(vaultId, id)}/restore`, { method: "POST", revision });
      if (place.secretId !== undefined) goTo(place, { secretId: undefined });
      contents.changed();
      tell(`${name} is back`);
    } catch (thrown) {
      tell(asKeepProblem(thrown).message);
    }
  };
  return (secret) => void restore(secret);
}

/** What can be done with a row. */
export function useChoices({
  place,
  contents,
  onDeed,
}: ChoicesParts): (entry: Entry) => readonly MenuChoice[] {
  const { tell } = useToasts();
  const { vaultId = "" } = place;
  const restore = useRestore({ place, contents });
  const copy = async ({ id, name }: SecretMetadata): Promise<void> => {
    try {
      const { body } = await ask<SecretValue>(valuePath(vaultId, id));
      await navigator.clipboard.writeText(body.value);
      tell(`Copied ${name}`);
    } catch (thrown) {
      tell(thrown instanceof KeepProblem ? thrown.message : "The browser did not let it be copied");
    }
  };
  return (entry) => {
    const open = { label: "Open", onChoose: () => go(entry.to) };
    if (entry.kind === "folder") {
      const { path } = entry;
      return [
        open,
        { label: "Move or rename…", onChoose: () => onDeed({ kind: "move-folder", path }) },
        { label: "Delete…", onChoose: () => onDeed({ kind: "delete-folder", path }), isDangerous: true },
      ];
    }
    const { secret } = entry;
    if (secret.deleted_at !== undefined) {
      return [
        { label: "Restore", onChoose: () => restore(secret) },
        { label: "Delete for good…", onChoose: () => onDeed({ kind: "purge", secret }), isDangerous: true },
      ];
    }
    return [
      open,
      { label: "Copy the value", onChoose: () => void copy(secret) },
      { label: "Move or rename…", onChoose: () => onDeed({ kind: "move", secret }) },
      { label: "Delete…", onChoose: () => onDeed({ kind: "delete", secret }), isDangerous: true },
    ];
  };
}
