import { CopyButton, ErrorNotice } from "@hearth-and-keep/page-design";
import type { SecretMetadata, SecretValue } from "@hearth-and-keep/vault-contract";
import { request } from "../../vault-api/api-client.ts";
import { useMutation } from "../../vault-api/use-mutation.ts";
import { valuePath } from "./api-paths.ts";
import { clearClipboardLater } from "./clear-clipboard.ts";
import { Countdown, useRevealedValue } from "./revealed-value.tsx";
import { isBinary } from "./secret-draft.ts";
import { formatBytes, saveAsFile } from "./value-bytes.ts";

export type ValueViewProps = {
  readonly vaultId: string;
  readonly secret: Pick<SecretMetadata, "id" | "name" | "type" | "size">;
  /** Defaults to the current version. */
  readonly version?: number;
  /** Renders Reveal as a secondary button, for further values on a screen that has a primary one. */
  readonly isSecondary?: boolean;
};

const referencePattern = /\$\{\/[^}]+\}/u;

/** A value that is hidden until Reveal is pressed; Copy fetches it without showing it. */
export function ValueView({ vaultId, secret, version, isSecondary = false }: ValueViewProps) {
  const versionQuery = version === undefined ? {} : { version };
  const path = valuePath(vaultId, secret.id, versionQuery);
  const { value, isLoading, error, timer, reveal } = useRevealedValue();
  const download = useMutation();
  const readValue = async (): Promise<SecretValue> => (await request<SecretValue>(path)).body;
  const failure = error ?? download.error;
  return (
    <div className="stack tight">
      <DisplayedValue value={value} size={secret.size} />
      <div className="row">
        {value === undefined ? (
          <button
            type="button"
            className={isSecondary ? "button" : "button primary"}
            disabled={isLoading}
            onClick={() => void reveal(path)}
          >
            {isLoading ? "Revealing…" : "Reveal"}
          </button>
        ) : (
          <Countdown timer={timer} />
        )}
        <CopyButton
          text={async () => (await readValue()).value}
          label={`Copy value of ${secret.name}`}
          onCopied={clearClipboardLater}
        >
          Copy
        </CopyButton>
        {isBinary(secret.type) && (
          <button
            type="button"
            className="button"
            disabled={download.isBusy}
            onClick={() => void download.run(async () => saveAsFile(secret.name, await readValue()))}
          >
            Download
          </button>
        )}
        {value?.encoding === "utf8" && referencePattern.test(value.value) && (
          <button
            type="button"
            className="button"
            onClick={() =>
              void reveal(valuePath(vaultId, secret.id, { ...versionQuery, expand: "references" }))
            }
          >
            Expand references
          </button>
        )}
      </div>
      {failure !== undefined && <ErrorNotice text={failure.message} onRetry={() => void reveal(path)} />}
    </div>
  );
}

function DisplayedValue({ value, size }: { readonly value: SecretValue | undefined; readonly size: number }) {
  if (value === undefined) {
    return (
      <div className="value hidden-value">
        <span aria-hidden="true">••••••••••••</span>
        <span className="visually-hidden">Value hidden.</span>
        <span className="muted small">{formatBytes(size)}</span>
      </div>
    );
  }
  return (
    <>
      <pre className="value" data-value aria-label="Value">
        {value.value}
      </pre>
      {value.note !== undefined && value.note !== "" && (
        <div className="note" data-value>
          <span className="muted small">Note</span>
          <p>{value.note}</p>
        </div>
      )}
    </>
  );
}
