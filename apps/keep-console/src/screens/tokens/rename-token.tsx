import { Failed } from "@hearth-and-keep/page-design";
import type { ApiToken } from "@hearth-and-keep/vault-contract";
import { type FormEvent, useState } from "react";
import { Dialog, DialogEnding } from "../../design/dialog.tsx";
import { TextField } from "../../design/field.tsx";
import { useToasts } from "../../design/toasts.tsx";
import { ask } from "../../vault-api/api-client.ts";
import { useDoing } from "../../vault-api/use-mutation.ts";
import { changed } from "../../vault-api/use-query.ts";

export type TokenDialogProps = { readonly token: ApiToken; readonly onClose: () => void };

export function RenameToken({ token, onClose }: TokenDialogProps) {
  const [name, setName] = useState(token.name);
  const { tell } = useToasts();
  const { problem, isBusy, run } = useDoing();
  const rename = (event: FormEvent): void => {
    event.preventDefault();
    if (name.trim() === "") return;
    void run(async () => {
      await ask(`/api/secrets/tokens/${token.id}`, { method: "PATCH", body: { name: name.trim() } });
      changed("/api/secrets/tokens");
      tell("Renamed");
      onClose();
    });
  };
  return (
    <Dialog title="Rename the token" onClose={onClose}>
      <form className="stack" onSubmit={rename}>
        <TextField
          label="Name"
          autoComplete="off"
          maxLength={255}
          value={name}
          mistake={name.trim() === "" ? "Give it a name that says what uses it" : undefined}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        {problem !== undefined && <Failed text={problem.message} />}
        <DialogEnding>
          <button type="submit" className="button main" disabled={isBusy}>
            Rename
          </button>
        </DialogEnding>
      </form>
    </Dialog>
  );
}
