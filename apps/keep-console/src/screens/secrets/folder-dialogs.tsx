import { Confirm } from "../../design/confirm.tsx";
import { useToasts } from "../../design/toasts.tsx";
import { ask } from "../../vault-api/api-client.ts";
import { useDoing } from "../../vault-api/use-mutation.ts";
import { queryOf, vaultPath } from "./api-paths.ts";
import { NameDialog } from "./name-dialog.tsx";
import { readVaultRevision } from "./save-secret.ts";
import { joinPath } from "./secrets-location.ts";

export type FolderDeed =
  | { readonly kind: "new-folder"; readonly within: string }
  | { readonly kind: "move-folder"; readonly path: string }
  | { readonly kind: "delete-folder"; readonly path: string };

export type FolderDeedsProps = {
  readonly vaultId: string;
  readonly deed: FolderDeed;
  readonly onDone: () => void;
  readonly onClose: () => void;
};

export function FolderDeeds({ vaultId, deed, onDone, onClose }: FolderDeedsProps) {
  const folders = `${vaultPath(vaultId)}/folders`;
  if (deed.kind === "delete-folder")
    return <DeleteFolder {...{ vaultId, onDone, onClose }} path={deed.path} />;
  if (deed.kind === "new-folder") {
    return (
      <NameDialog
        title="New folder"
        label="Name"
        hint={deed.within === "/" ? "In the vault itself" : `In ${deed.within}`}
        action="Make the folder"
        refusal="There is a folder of that name already."
        onClose={onClose}
        onDone={async (name) => {
          const body = { path: joinPath(deed.within, name) };
          await ask(folders, { method: "POST", body, revision: "new" });
          onDone();
        }}
      />
    );
  }
  return (
    <NameDialog
      title="Move or rename the folder"
      label="Path"
      hint="Everything in it moves along; programs that use the old paths no longer find it"
      action="Move"
      first={deed.path}
      onClose={onClose}
      onDone={async (to) => {
        const revision = await readVaultRevision(vaultId);
        await ask(`${folders}/move`, { method: "POST", body: { from: deed.path, to }, revision });
        onDone();
      }}
    />
  );
}

type DeleteFolderProps = Omit<FolderDeedsProps, "deed"> & { readonly path: string };

function DeleteFolder({ vaultId, path, onDone, onClose }: DeleteFolderProps) {
  const doing = useDoing();
  const { tell } = useToasts();
  const remove = async (): Promise<void> => {
    const query = queryOf({ path, recursive: "true" });
    const revision = await readVaultRevision(vaultId);
    const { body } = await ask<{ secrets: number }>(`${vaultPath(vaultId)}/folders${query}`, {
      method: "DELETE",
      revision,
    });
    tell(
      body.secrets === 0 ? "The folder is deleted" : `Deleted the folder and ${body.secrets} secrets in it`,
    );
    onDone();
  };
  return (
    <Confirm
      title={`Delete the folder ${path}?`}
      action="Delete the folder"
      doing={doing}
      onConfirm={() => void doing.run(remove)}
      onClose={onClose}
    >
      Every secret in it, and in the folders within it, is deleted. Programs can no longer read them. They
      stay in Recently deleted for 30 days.
    </Confirm>
  );
}
