import { Failed, Notice } from "@hearth-and-keep/page-design";
import type { ImportReport } from "@hearth-and-keep/vault-contract";
import { type DragEvent, useId, useState } from "react";
import { Dialog, DialogEnding } from "../../design/dialog.tsx";
import { CheckField, SelectField, TextArea } from "../../design/field.tsx";
import { ask } from "../../vault-api/api-client.ts";
import { useDoing } from "../../vault-api/use-mutation.ts";
import { queryOf, vaultPath } from "./api-paths.ts";
import { ImportPreview } from "./import-preview.tsx";
import { isChangedMeanwhile, readVaultRevision } from "./save-secret.ts";
import { useSight } from "./use-reveal-timer.ts";
import { AwayField } from "./value-editor.tsx";

export type ImportDialogProps = {
  readonly vaultId: string;
  readonly folder: string;
  readonly onDone: (report: ImportReport) => void;
  readonly onClose: () => void;
};

type Source = { readonly content: string; readonly format: "dotenv" | "json"; readonly overwrites: boolean };

/** What would be done, and the revision of the vault that it holds for. */
type Preview = { readonly report: ImportReport; readonly revision: number };

/** First what would change is shown; only then it is done. */
export function ImportDialog({ vaultId, folder, onDone, onClose }: ImportDialogProps) {
  const [source, setSource] = useState<Source>({ content: "", format: "dotenv", overwrites: true });
  const [shown, setShown] = useState<Preview>();
  const preview = shown?.report;
  const { run, isBusy, problem } = useDoing();
  const send = (revision?: number): Promise<ImportReport> =>
    sendImport({ vaultId, folder, source, revision });
  const look = async (): Promise<void> =>
    setShown({ report: await send(), revision: await readVaultRevision(vaultId) });
  const count = preview === undefined ? 0 : preview.created.length + preview.changed.length;
  return (
    <Dialog title="Import" isWide onClose={onClose} staysOnOutsidePress>
      <p className="quiet">
        Into <span className="fixed breaks">{folder}</span>
      </p>
      {preview === undefined ? (
        <SourceFields source={source} onChange={setSource} />
      ) : (
        <ImportPreview report={preview} />
      )}
      {problem !== undefined && (
        <Failed
          text={
            isChangedMeanwhile(problem)
              ? "It changed in the meantime. Nothing was imported; go back and look at the preview again."
              : problem.message
          }
        />
      )}
      <DialogEnding>
        {preview === undefined ? (
          <button
            type="button"
            className="button main"
            disabled={isBusy || source.content.trim() === ""}
            onClick={() => void run(look)}
          >
            Preview
          </button>
        ) : (
          <>
            <button type="button" className="button" onClick={() => setShown(undefined)}>
              Back
            </button>
            <button
              type="button"
              className="button main"
              disabled={isBusy || count === 0}
              onClick={() => void run(async () => onDone(await send(shown?.revision)))}
            >
              {isBusy ? "Importing…" : `Import ${count} ${count === 1 ? "secret" : "secrets"}`}
            </button>
          </>
        )}
      </DialogEnding>
    </Dialog>
  );
}

type Sending = Pick<ImportDialogProps, "vaultId" | "folder"> & {
  readonly source: Source;
  /** Of the vault that was looked at; a dry run without it. */
  readonly revision: number | undefined;
};

async function sendImport({ vaultId, folder, source, revision }: Sending): Promise<ImportReport> {
  const query = queryOf({
    format: source.format,
    path: folder,
    mode: source.overwrites ? "overwrite" : "create",
    dry_run: revision === undefined ? "true" : "false",
  });
  const { body } = await ask<ImportReport>(`${vaultPath(vaultId)}/import${query}`, {
    method: "POST",
    body: { content: source.content },
    ...(revision === undefined ? {} : { revision }),
  });
  return body;
}

type SourceFieldsProps = { readonly source: Source; readonly onChange: (source: Source) => void };

function SourceFields({ source, onChange }: SourceFieldsProps) {
  const id = useId();
  const sight = useSight(true);
  const take = async (file: File | undefined): Promise<void> => {
    if (file === undefined) return;
    const content = await file.text();
    sight.show();
    onChange({ ...source, content, format: formatOf(content) });
  };
  const drop = (event: DragEvent): void => {
    event.preventDefault();
    void take(event.dataTransfer.files[0]);
  };
  return (
    <div className="stack" onDragOver={(event) => event.preventDefault()} onDrop={drop}>
      {source.content !== "" && sight.secondsLeft === undefined ? (
        <AwayField label="Content" onReturn={sight.show} />
      ) : (
        <TextArea
          label="Content"
          hint="Paste it here, or drop a file on it"
          rows={8}
          value={source.content}
          placeholder={"DATABASE_URL=postgres://…\nAPI_KEY=…"}
          onChange={(event) => {
            const content = event.currentTarget.value;
            sight.show();
            const isFirst = source.content === "";
            onChange({ ...source, content, format: isFirst ? formatOf(content) : source.format });
          }}
        />
      )}
      <div className="field">
        <label htmlFor={id}>Or choose a file</label>
        <input
          id={id}
          type="file"
          className="input file"
          onChange={(event) => void take(event.currentTarget.files?.[0])}
        />
      </div>
      <SelectField
        label="Format"
        value={source.format}
        choices={[
          { value: "dotenv", label: ".env" },
          { value: "json", label: "JSON" },
        ]}
        onChoose={(format) => onChange({ ...source, format: format === "json" ? "json" : "dotenv" })}
      />
      <CheckField
        label="Give secrets that are there already a new version"
        hint="Otherwise they are left as they are"
        isChecked={source.overwrites}
        onChange={(overwrites) => onChange({ ...source, overwrites })}
      />
      <Notice>Nothing is saved before you have seen what would change.</Notice>
    </div>
  );
}

function formatOf(content: string): Source["format"] {
  return /^\s*[{[]/u.test(content) ? "json" : "dotenv";
}
