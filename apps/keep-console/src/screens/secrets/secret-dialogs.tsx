import type { SecretMetadata } from "@hearth-and-keep/vault-contract";
import { Confirm } from "../../design/confirm.tsx";
import { useToasts } from "../../design/toasts.tsx";
import { ask } from "../../vault-api/api-client.ts";
import { useDoing } from "../../vault-api/use-mutation.ts";
import { secretPath } from "./api-paths.ts";
import { NameDialog } from "./name-dialog.tsx";

/** What is done to a secret as a whole, and asked about first. */
export type SecretDeed =
  | { readonly kind: "move"; readonly secret: SecretMetadata }
  | { readonly kind: "delete"; readonly secret: SecretMetadata }
  | { readonly kind: "purge"; readonly secret: SecretMetadata };

export type SecretDeedsProps = {
  readonly vaultId: string;
  readonly deed: SecretDeed;
  /** With what it is now; undefined when it is gone from where it was. */
  readonly onDone: (secret: SecretMetadata | undefined) => void;
  readonly onClose: () => void;
};

export function SecretDeeds({ vaultId, deed, onDone, onClose }: SecretDeedsProps) {
  const { tell } = useToasts();
  const { secret } = deed;
  if (deed.kind !== "move") return <TakeAway {...{ vaultId, deed, onDone, onClose }} />;
  return (
    <NameDialog
      title={`Move or rename ${secret.name}`}
      label="Path"
      hint="Programs that read it by its old path no longer find it there"
      action="Move"
      first={secret.path}
      onClose={onClose}
      onDone={async (path) => {
        const at = path.lastIndexOf("/");
        const body = { folder: path.slice(0, Math.max(0, at)) || "/", name: path.slice(at + 1) };
        const wish = { method: "PATCH", body, revision: secret.revision } as const;
        const moved = await ask<SecretMetadata>(secretPath(vaultId, secret.id), wish);
        tell(`It is at ${moved.body.path} now`);
        onDone(moved.body);
      }}
    />
  );
}

function TakeAway({ vaultId, deed, onDone, onClose }: SecretDeedsProps) {
  const doing = useDoing();
  const { tell } = useToasts();
  const { secret } = deed;
  const isForGood = deed.kind === "purge";
  const path = `${secretPath(vaultId, secret.id)}${isForGood ? "?purge=true" : ""}`;
  const takeAway = async (): Promise<void> => {
    await ask(path, { method: "DELETE", revision: secret.revision });
    tell(isForGood ? `${secret.name} is gone for good` : `${secret.name} is in Recently deleted for 30 days`);
    onDone(undefined);
  };
  return (
    <Confirm
      title={isForGood ? `Delete ${secret.name} for good?` : `Delete ${secret.name}?`}
      action={isForGood ? "Delete for good" : "Delete"}
      doing={doing}
      onConfirm={() => void doing.run(takeAway)}
      onClose={onClose}
    >
      {isForGood
        ? "All of its versions are erased at once. Nobody can bring them back."
        : "Programs can no longer read it. It stays in Recently deleted for 30 days, and can be restored until then."}
    </Confirm>
  );
}
