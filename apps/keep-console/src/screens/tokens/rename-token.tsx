import { ErrorNotice } from "@hearth-and-keep/page-design";
import type { ApiToken } from "@hearth-and-keep/vault-contract";
import { type FormEvent, useState } from "react";
import { Dialog, DialogActions } from "../../design/dialog.tsx";
import { TextField } from "../../design/field.tsx";
import { useToasts } from "../../design/toasts.tsx";
import { request } from "../../vault-api/api-client.ts";
import { useMutation } from "../../vault-api/use-mutation.ts";
import { invalidate } from "../../vault-api/use-query.ts";
import type { TokenCollection } from "./token-collection.ts";

export type TokenDialogProps = {
  readonly collection: TokenCollection;
  readonly token: ApiToken;
  readonly onClose: () => void;
};

export function RenameToken({ collection, token, onClose }: TokenDialogProps) {
  const [name, setName] = useState(token.name);
  const { showToast } = useToasts();
  const { error, isBusy, run } = useMutation();
  const rename = (event: FormEvent): void => {
    event.preventDefault();
    if (name.trim() === "") return;
    void run(async () => {
      await request(`${collection.apiPath}/${token.id}`, { method: "PATCH", body: { name: name.trim() } });
      invalidate(collection.apiPath);
      showToast("Token renamed");
      onClose();
    });
  };
  return (
    <Dialog title="Rename token" onClose={onClose}>
      <form className="stack" onSubmit={rename}>
        <TextField
          label="Name"
          autoComplete="off"
          maxLength={255}
          value={name}
          error={name.trim() === "" ? "Enter a name that says what uses the token" : undefined}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        {error !== undefined && <ErrorNotice text={error.message} />}
        <DialogActions>
          <button type="submit" className="button primary" disabled={isBusy}>
            Rename
          </button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
