import { ErrorNotice, Notice } from "@hearth-and-keep/page-design";
import type { ExportedFile, Session } from "@hearth-and-keep/vault-contract";
import { useState } from "react";
import { Dialog, DialogActions } from "../../design/dialog.tsx";
import { CheckboxField, SelectField } from "../../design/field.tsx";
import { useToasts } from "../../design/toasts.tsx";
import { requiresFreshSignIn, SignInAgain } from "../../shell/sign-in-again.tsx";
import { request } from "../../vault-api/api-client.ts";
import { useMutation } from "../../vault-api/use-mutation.ts";
import { formatQuery, vaultPath } from "./api-paths.ts";
import { saveAsFile } from "./value-bytes.ts";

export type ExportDialogProps = {
  readonly session: Session;
  readonly vaultId: string;
  readonly folder: string;
  /** Of the secrets in the folder; all of them by default. */
  readonly names?: readonly string[];
  readonly onClose: () => void;
};

/** Downloads all values of a folder in plaintext; the server requires a fresh sign-in. */
export function ExportDialog({ session, vaultId, folder, names, onClose }: ExportDialogProps) {
  const [format, setFormat] = useState("dotenv");
  const [isRecursive, setIsRecursive] = useState(true);
  const { run, isBusy, error } = useMutation();
  const { showToast } = useToasts();
  const save = async (): Promise<void> => {
    const query = formatQuery({
      format,
      path: folder,
      recursive: isRecursive && names === undefined ? "true" : "false",
      names: names?.join(","),
    });
    const { body } = await request<ExportedFile>(`${vaultPath(vaultId)}/export${query}`);
    const name = folder === "/" ? "vault" : (folder.split("/").at(-1) ?? "vault");
    saveAsFile(`${name}.${format === "json" ? "json" : "env"}`, { value: body.content, encoding: "utf8" });
    showToast(`Exported ${body.items} ${body.items === 1 ? "secret" : "secrets"}`);
    onClose();
  };
  const needsSignIn = requiresFreshSignIn(error);
  return (
    <Dialog title="Export secrets" onClose={onClose}>
      <p className="muted">
        {names === undefined ? "From" : names.length === 1 ? "1 secret in" : `${names.length} secrets in`}{" "}
        <span className="mono break-words">{folder}</span>
      </p>
      <SelectField
        label="Format"
        value={format}
        onChange={setFormat}
        options={[
          { value: "dotenv", label: ".env" },
          { value: "json", label: "JSON" },
        ]}
      />
      {names === undefined && (
        <CheckboxField label="Include subfolders" isChecked={isRecursive} onChange={setIsRecursive} />
      )}
      <Notice kind="warning">
        The file contains every value in plaintext. Delete it when you no longer need it.
      </Notice>
      {needsSignIn && <SignInAgain session={session} purpose="export secrets" />}
      {error !== undefined && !needsSignIn && <ErrorNotice text={error.message} />}
      <DialogActions>
        {!needsSignIn && (
          <button type="button" className="button primary" disabled={isBusy} onClick={() => void run(save)}>
            {isBusy ? "Exporting…" : "Export"}
          </button>
        )}
      </DialogActions>
    </Dialog>
  );
}
