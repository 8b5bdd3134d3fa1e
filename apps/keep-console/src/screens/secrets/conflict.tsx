import { Notice } from "@hearth-and-keep/page-design";
import { DiffView } from "./diff-view.tsx";
import { type Draft, draftOf, isOfBytes } from "./draft.ts";
import type { SayWho } from "./format-actor.ts";
import { Countdown } from "./revealed.tsx";
import type { Stored } from "./save-secret.ts";
import { useSight } from "./use-reveal-timer.ts";
import { saySize } from "./value-bytes.ts";

export type ConflictProps = {
  readonly mine: Draft;
  /** Undefined when somebody deleted it. */
  readonly theirs: Stored | undefined;
  readonly isBusy: boolean;
  readonly who: SayWho;
  readonly onKeepTheirs: () => void;
  readonly onSaveMine: () => void;
  readonly onEditOn: () => void;
};

/** Somebody else was quicker. Both are shown, and the person decides; nothing of either is lost. */
export function Conflict({ mine, theirs, isBusy, who, ...choices }: ConflictProps) {
  return (
    <div className="stack">
      <Notice kind="warn">
        <strong>It changed in the meantime.</strong>{" "}
        {theirs === undefined
          ? "Somebody deleted it while you were writing."
          : sayWhoWasQuicker(who(theirs.secret.updated_by), theirs.secret.version)}{" "}
        Nothing of yours is saved yet, and nothing is lost.
      </Notice>
      <Both mine={mine} theirs={theirs} />
      <div className="row">
        <button type="button" className="button main" disabled={isBusy} onClick={choices.onSaveMine}>
          {theirs === undefined ? "Save mine as a new secret" : "Save mine on top"}
        </button>
        <button type="button" className="button" disabled={isBusy} onClick={choices.onKeepTheirs}>
          {theirs === undefined ? "Leave it deleted" : "Keep theirs"}
        </button>
        <button type="button" className="button" disabled={isBusy} onClick={choices.onEditOn}>
          Edit on
        </button>
      </div>
    </div>
  );
}

function sayWhoWasQuicker(name: string, version: number): string {
  const place = name === "You" ? " in another window" : "";
  return `${name} saved version ${version}${place} while you were writing.`;
}

function Both({ mine, theirs }: Pick<ConflictProps, "mine" | "theirs">) {
  const sight = useSight(true);
  if (sight.secondsLeft === undefined) {
    return (
      <div className="row">
        <button type="button" className="button" onClick={sight.show}>
          Show both again
        </button>
      </div>
    );
  }
  const other = theirs === undefined ? undefined : draftOf(theirs.secret, theirs.value);
  const isText = other !== undefined && !isOfBytes(mine.type) && !isOfBytes(other.type);
  return (
    <>
      <div className="both">
        <Side title="Mine" draft={mine} size={mine.file?.size} />
        {other !== undefined && <Side title="Theirs" draft={other} size={theirs?.secret.size} />}
      </div>
      {isText && (
        <div className="stack tight">
          <h3>From theirs to mine</h3>
          <DiffView before={other.text} after={mine.text} />
        </div>
      )}
      <Countdown sight={sight} />
    </>
  );
}

type SideProps = { readonly title: string; readonly draft: Draft; readonly size: number | undefined };

function Side({ title, draft, size }: SideProps) {
  return (
    <section className="stack tight" aria-label={title}>
      <h3>{title}</h3>
      <pre className="value" data-value>
        {isOfBytes(draft.type) ? `Bytes${size === undefined ? "" : `, ${saySize(size)}`}` : draft.text}
      </pre>
      <dl className="facts small">
        <dt>Tags</dt>
        <dd className="breaks">{draft.tags === "" ? "None" : draft.tags}</dd>
        <dt>Note</dt>
        <dd className="breaks">{draft.note === "" ? "None" : draft.note}</dd>
      </dl>
    </section>
  );
}
