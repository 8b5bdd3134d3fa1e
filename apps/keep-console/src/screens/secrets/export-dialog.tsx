import { Failed, Notice } from "@hearth-and-keep/page-design";
import type { ExportedFile, Session } from "@hearth-and-keep/vault-contract";
import { useState } from "react";
import { Dialog, DialogEnding } from "../../design/dialog.tsx";
import { CheckField, SelectField } from "../../design/field.tsx";
import { useToasts } from "../../design/toasts.tsx";
import { needsFreshSignIn, SignInAgain } from "../../shell/sign-in-again.tsx";
import { ask } from "../../vault-api/api-client.ts";
import { useDoing } from "../../vault-api/use-mutation.ts";
import { queryOf, vaultPath } from "./api-paths.ts";
import { saveAsFile } from "./value-bytes.ts";

export type ExportDialogProps = {
  readonly session: Session;
  readonly vaultId: string;
  readonly folder: string;
  readonly onClose: () => void;
};

/** All values of a folder as a file, for somebody who has just proved who they are. */
export function ExportDialog({ session, vaultId, folder, onClose }: ExportDialogProps) {
  const [format, setFormat] = useState("dotenv");
  const [isDeep, setIsDeep] = useState(true);
  const { run, isBusy, problem } = useDoing();
  const { tell } = useToasts();
  const save = async (): Promise<void> => {
    const query = queryOf({ format, path: folder, recursive: isDeep ? "true" : "false" });
    const { body } = await ask<ExportedFile>(`${vaultPath(vaultId)}/export${query}`);
    const name = folder === "/" ? "vault" : (folder.split("/").at(-1) ?? "vault");
    saveAsFile(`${name}.${format === "json" ? "json" : "env"}`, { value: body.content, encoding: "utf8" });
    tell(`Exported ${body.items} ${body.items === 1 ? "secret" : "secrets"}`);
    onClose();
  };
  const isRefused = needsFreshSignIn(problem);
  return (
    <Dialog title="Export" onClose={onClose}>
      <p className="quiet">
        From <span className="fixed breaks">{folder}</span>
      </p>
      <SelectField
        label="Format"
        value={format}
        onChoose={setFormat}
        choices={[
          { value: "dotenv", label: ".env" },
          { value: "json", label: "JSON" },
        ]}
      />
      <CheckField label="With the folders within it" isChecked={isDeep} onChange={setIsDeep} />
      <Notice kind="warn">The file holds every value in clear. Delete it when you no longer need it.</Notice>
      {isRefused && <SignInAgain session={session} purpose="export values" />}
      {problem !== undefined && !isRefused && <Failed text={problem.message} />}
      <DialogEnding>
        {!isRefused && (
          <button type="button" className="button main" disabled={isBusy} onClick={() => void run(save)}>
            {isBusy ? "Exporting…" : "Export"}
          </button>
        )}
      </DialogEnding>
    </Dialog>
  );
}
