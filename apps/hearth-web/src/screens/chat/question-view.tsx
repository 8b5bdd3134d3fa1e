import { CopyButton } from "@hearth-and-keep/page-design";
import { useState } from "react";
import { EditIcon } from "../../design/icons.tsx";
import type { Question } from "../../state/conversation.ts";
import { Pictures } from "./composer.tsx";
import { showTurning } from "./markdown/safe-text.ts";

export type QuestionViewProps = {
  readonly question: Question;
  readonly onChange: (text: string) => void;
};

export function QuestionView({ question, onChange }: QuestionViewProps) {
  const [isEditing, setIsEditing] = useState(false);
  if (isEditing) {
    return (
      <EditQuestion
        text={question.text}
        onCancel={() => setIsEditing(false)}
        onSave={(text) => {
          setIsEditing(false);
          onChange(text);
        }}
      />
    );
  }
  return (
    <article className="turn question" aria-label="You">
      <Pictures images={question.images} />
      <p className="said" dir="auto">
        {showTurning(question.text)}
      </p>
      <div className="turn-deeds">
        <button
          type="button"
          className="button small bare"
          aria-label="Edit this question"
          onClick={() => setIsEditing(true)}
        >
          <EditIcon />
          Edit
        </button>
        <CopyButton text={question.text} label="Copy this question" isSmall>
          Copy
        </CopyButton>
      </div>
    </article>
  );
}

type EditProps = {
  readonly text: string;
  readonly onSave: (text: string) => void;
  readonly onCancel: () => void;
};

function EditQuestion({ text, onSave, onCancel }: EditProps) {
  const [draft, setDraft] = useState(text);
  return (
    <form
      className="turn edit"
      onSubmit={(event) => {
        event.preventDefault();
        if (draft.trim() !== "") onSave(draft.trim());
      }}
    >
      <textarea
        className="input"
        aria-label="The question in other words"
        rows={3}
        dir="auto"
        value={draft}
        ref={takeFocus}
        onChange={(event) => setDraft(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") onCancel();
        }}
      />
      <div className="row">
        <button type="submit" className="button main">
          Ask anew
        </button>
        <button type="button" className="button" onClick={onCancel}>
          Cancel
        </button>
        <span className="quiet small">What followed is replaced.</span>
      </div>
    </form>
  );
}

function takeFocus(field: HTMLTextAreaElement | null): void {
  field?.focus();
}
