import { CopyButton, Failed } from "@hearth-and-keep/page-design";
import type { SecretMetadata, SecretValue } from "@hearth-and-keep/vault-contract";
import { ask } from "../../vault-api/api-client.ts";
import { useDoing } from "../../vault-api/use-mutation.ts";
import { valuePath } from "./api-paths.ts";
import { Countdown, useRevealed } from "./revealed.tsx";
import { saveAsFile, saySize } from "./value-bytes.ts";

export type ValueViewProps = {
  readonly vaultId: string;
  readonly secret: Pick<SecretMetadata, "id" | "name" | "type" | "size">;
  /** The newest one when it is left out. */
  readonly version?: number;
  /** The one button of the screen that stands out is elsewhere, where several values can be revealed. */
  readonly isQuiet?: boolean;
};

const reference = /\$\{\/[^}]+\}/u;

/** A value: hidden, until somebody asks to see it; copied without being shown. */
export function ValueView({ vaultId, secret, version, isQuiet = false }: ValueViewProps) {
  const which = version === undefined ? {} : { version };
  const path = valuePath(vaultId, secret.id, which);
  const { value, isLoading, problem, sight, reveal } = useRevealed();
  const saving = useDoing();
  const read = async (): Promise<SecretValue> => (await ask<SecretValue>(path)).body;
  const failure = problem ?? saving.problem;
  const isBytes = secret.type === "file" || secret.type === "binary";
  return (
    <div className="stack tight">
      <Shown value={value} size={secret.size} />
      <div className="row">
        {value === undefined ? (
          <button
            type="button"
            className={isQuiet ? "button" : "button main"}
            disabled={isLoading}
            onClick={() => void reveal(path)}
          >
            {isLoading ? "Revealing…" : "Reveal"}
          </button>
        ) : (
          <Countdown sight={sight} />
        )}
        <CopyButton text={async () => (await read()).value} label={`Copy the value of ${secret.name}`}>
          Copy
        </CopyButton>
        {isBytes && (
          <button
            type="button"
            className="button"
            disabled={saving.isBusy}
            onClick={() => void saving.run(async () => saveAsFile(secret.name, await read()))}
          >
            Download
          </button>
        )}
        {value?.encoding === "utf8" && reference.test(value.value) && (
          <button
            type="button"
            className="button"
            onClick={() => void reveal(valuePath(vaultId, secret.id, { ...which, expand: "references" }))}
          >
            Expand references
          </button>
        )}
      </div>
      {failure !== undefined && <Failed text={failure.message} onRetry={() => void reveal(path)} />}
    </div>
  );
}

function Shown({ value, size }: { readonly value: SecretValue | undefined; readonly size: number }) {
  if (value === undefined) {
    return (
      <div className="value hidden-value">
        <span aria-hidden="true">••••••••••••</span>
        <span className="hidden-to-sight">The value is hidden.</span>
        <span className="quiet small">{saySize(size)}</span>
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
          <span className="quiet small">Note</span>
          <p>{value.note}</p>
        </div>
      )}
    </>
  );
}
