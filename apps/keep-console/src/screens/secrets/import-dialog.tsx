import { ErrorNotice, Notice } from "@hearth-and-keep/page-design";
import type { ImportReport } from "@hearth-and-keep/vault-contract";
import { type DragEvent, useId, useState } from "react";
import { Dialog, DialogActions } from "../../design/dialog.tsx";
import { CheckboxField, SelectField, TextArea } from "../../design/field.tsx";
import { request } from "../../vault-api/api-client.ts";
import { useMutation } from "../../vault-api/use-mutation.ts";
import { explainApproval } from "../approvals/explain-approval.ts";
import { formatQuery, vaultPath } from "./api-paths.ts";
import { ImportPreview } from "./import-preview.tsx";
import { isPreconditionFailed, readVaultRevision } from "./save-secret.ts";
import { useRevealTimer } from "./use-reveal-timer.ts";
import { HiddenField } from "./value-editor.tsx";

export type ImportDialogProps = {
  readonly vaultId: string;
  readonly folder: string;
  readonly onDone: (report: ImportReport) => void;
  readonly onClose: () => void;
};

type Source = { readonly content: string; readonly format: "dotenv" | "json"; readonly overwrites: boolean };

/** The result of a dry run, and the vault revision it applies to. */
type Preview = { readonly report: ImportReport; readonly revision: number };

/** A dry run shows what would change; the import then requires that the vault has not changed since. */
export function ImportDialog({ vaultId, folder, onDone, onClose }: ImportDialogProps) {
  const [source, setSource] = useState<Source>({ content: "", format: "dotenv", overwrites: true });
  const [preview, setPreview] = useState<Preview>();
  const report = preview?.report;
  const { run, isBusy, error } = useMutation();
  const send = (revision?: number): Promise<ImportReport> =>
    sendImport({ vaultId, folder, source, revision });
  const loadPreview = async (): Promise<void> =>
    setPreview({ report: await send(), revision: await readVaultRevision(vaultId) });
  const count = report === undefined ? 0 : report.created.length + report.changed.length;
  return (
    <Dialog title="Import secrets" isWide onClose={onClose} staysOpenOnOutsidePress>
      <p className="muted">
        Into <span className="mono break-words">{folder}</span>
      </p>
      {report === undefined ? (
        <SourceFields source={source} onChange={setSource} />
      ) : (
        <ImportPreview report={report} />
      )}
      {error !== undefined && (
        <ErrorNotice
          text={
            isPreconditionFailed(error)
              ? "The vault changed since the preview. Nothing was imported. Go back and preview again."
              : error.message
          }
        />
      )}
      <DialogActions>
        {report === undefined ? (
          <button
            type="button"
            className="button primary"
            disabled={isBusy || source.content.trim() === ""}
            onClick={() => void run(loadPreview)}
          >
            Preview
          </button>
        ) : (
          <>
            <button type="button" className="button" onClick={() => setPreview(undefined)}>
              Back
            </button>
            <button
              type="button"
              className="button primary"
              disabled={isBusy || count === 0}
              onClick={() => void run(async () => onDone(await send(preview?.revision)))}
            >
              {isBusy ? "Importing…" : `Import ${count} ${count === 1 ? "secret" : "secrets"}`}
            </button>
          </>
        )}
      </DialogActions>
    </Dialog>
  );
}

const protectedImport =
  "Some of these secrets are protected, so nothing was imported. Save those one by one, which offers to propose each change, and leave them out of the file.";

type ImportRequest = Pick<ImportDialogProps, "vaultId" | "folder"> & {
  readonly source: Source;
  /** The vault revision of the preview; without it the import is a dry run. */
  readonly revision: number | undefined;
};

async function sendImport({ vaultId, folder, source, revision }: ImportRequest): Promise<ImportReport> {
  const query = formatQuery({
    format: source.format,
    path: folder,
    mode: source.overwrites ? "overwrite" : "create",
    dry_run: revision === undefined ? "true" : "false",
  });
  const sent = request<ImportReport>(`${vaultPath(vaultId)}/import${query}`, {
    method: "POST",
    body: { content: source.content },
    ...(revision === undefined ? {} : { revision }),
  });
  return (await explainApproval(sent, protectedImport)).body;
}

type SourceFieldsProps = { readonly source: Source; readonly onChange: (source: Source) => void };

function SourceFields({ source, onChange }: SourceFieldsProps) {
  const id = useId();
  const timer = useRevealTimer(true);
  const loadFile = async (file: File | undefined): Promise<void> => {
    if (file === undefined) return;
    const content = await file.text();
    timer.show();
    onChange({ ...source, content, format: detectFormat(content) });
  };
  const drop = (event: DragEvent): void => {
    event.preventDefault();
    void loadFile(event.dataTransfer.files[0]);
  };
  return (
    <div className="stack" onDragOver={(event) => event.preventDefault()} onDrop={drop}>
      {source.content !== "" && timer.secondsLeft === undefined ? (
        <HiddenField label="Content" onShow={timer.show} />
      ) : (
        <TextArea
          label="Content"
          hint="Paste the content or drop a file here"
          rows={8}
          value={source.content}
          placeholder={"DATABASE_URL=postgres://…\nAPI_KEY=…"}
          onChange={(event) => {
            const content = event.currentTarget.value;
            timer.show();
            const isFirst = source.content === "";
            onChange({ ...source, content, format: isFirst ? detectFormat(content) : source.format });
          }}
        />
      )}
      <div className="field">
        <label htmlFor={id}>Or choose a file</label>
        <input
          id={id}
          type="file"
          className="input file"
          onChange={(event) => void loadFile(event.currentTarget.files?.[0])}
        />
      </div>
      <SelectField
        label="Format"
        value={source.format}
        options={[
          { value: "dotenv", label: ".env" },
          { value: "json", label: "JSON" },
        ]}
        onChange={(format) => onChange({ ...source, format: format === "json" ? "json" : "dotenv" })}
      />
      <CheckboxField
        label="Overwrite existing secrets"
        hint="Adds a new version. Otherwise existing secrets are skipped."
        isChecked={source.overwrites}
        onChange={(overwrites) => onChange({ ...source, overwrites })}
      />
      <Notice>The preview shows all changes before anything is saved.</Notice>
    </div>
  );
}

function detectFormat(content: string): Source["format"] {
  return /^\s*[{[]/u.test(content) ? "json" : "dotenv";
}
