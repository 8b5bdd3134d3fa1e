import { Notice } from "@hearth-and-keep/page-design";
import { DiffView } from "./diff-view.tsx";
import type { FormatActor } from "./format-actor.ts";
import { Countdown } from "./revealed-value.tsx";
import type { StoredSecret } from "./save-secret.ts";
import { isBinary, type SecretDraft, toDraft } from "./secret-draft.ts";
import { useRevealTimer } from "./use-reveal-timer.ts";
import { formatBytes } from "./value-bytes.ts";

export type EditConflictProps = {
  readonly mine: SecretDraft;
  /** Undefined when the secret was deleted. */
  readonly theirs: StoredSecret | undefined;
  readonly isBusy: boolean;
  readonly formatActor: FormatActor;
  readonly onKeepTheirs: () => void;
  readonly onOverwrite: () => void;
  readonly onKeepEditing: () => void;
};

/** Shown when the secret changed since it was opened for editing. Both values are shown, and the user chooses one. */
export function EditConflict({ mine, theirs, isBusy, formatActor, ...handlers }: EditConflictProps) {
  return (
    <div className="stack">
      <Notice kind="warning">
        <strong>This secret changed while you were editing.</strong>{" "}
        {theirs === undefined
          ? "It was deleted."
          : describeConflict(formatActor(theirs.secret.updated_by), theirs.secret.version)}{" "}
        Your changes are not saved yet.
      </Notice>
      <Comparison mine={mine} theirs={theirs} />
      <div className="row">
        <button type="button" className="button primary" disabled={isBusy} onClick={handlers.onOverwrite}>
          {theirs === undefined ? "Save as new secret" : "Overwrite with mine"}
        </button>
        <button type="button" className="button" disabled={isBusy} onClick={handlers.onKeepTheirs}>
          {theirs === undefined ? "Keep deleted" : "Keep theirs"}
        </button>
        <button type="button" className="button" disabled={isBusy} onClick={handlers.onKeepEditing}>
          Keep editing
        </button>
      </div>
    </div>
  );
}

function describeConflict(actor: string, version: number): string {
  const where = actor === "You" ? " in another window" : "";
  return `${actor} saved version ${version}${where}.`;
}

function Comparison({ mine, theirs }: Pick<EditConflictProps, "mine" | "theirs">) {
  const timer = useRevealTimer(true);
  if (timer.secondsLeft === undefined) {
    return (
      <div className="row">
        <button type="button" className="button" onClick={timer.show}>
          Show both
        </button>
      </div>
    );
  }
  const other = theirs === undefined ? undefined : toDraft(theirs.secret, theirs.value);
  const isText = other !== undefined && !isBinary(mine.type) && !isBinary(other.type);
  return (
    <>
      <div className="side-by-side">
        <Side title="Mine" draft={mine} size={mine.file?.size} />
        {other !== undefined && <Side title="Theirs" draft={other} size={theirs?.secret.size} />}
      </div>
      {isText && (
        <div className="stack tight">
          <h3>Changes from theirs to mine</h3>
          <DiffView before={other.text} after={mine.text} />
        </div>
      )}
      <Countdown timer={timer} />
    </>
  );
}

type SideProps = { readonly title: string; readonly draft: SecretDraft; readonly size: number | undefined };

function Side({ title, draft, size }: SideProps) {
  return (
    <section className="stack tight" aria-label={title}>
      <h3>{title}</h3>
      <pre className="value" data-value>
        {isBinary(draft.type) ? `Binary${size === undefined ? "" : `, ${formatBytes(size)}`}` : draft.text}
      </pre>
      <dl className="properties small">
        <dt>Tags</dt>
        <dd className="break-words">{draft.tags === "" ? "None" : draft.tags}</dd>
        <dt>Note</dt>
        <dd className="break-words">{draft.note === "" ? "None" : draft.note}</dd>
      </dl>
    </section>
  );
}
