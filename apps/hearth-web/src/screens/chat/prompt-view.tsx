import { CopyButton } from "@hearth-and-keep/page-design";
import { useState } from "react";
import { EditIcon } from "../../design/icons.tsx";
import { revealBidiControls } from "../../design/reveal-bidi-controls.ts";
import type { PromptTurn } from "../../state/conversation.ts";
import { ImageList } from "./composer.tsx";

export type PromptViewProps = {
  readonly prompt: PromptTurn;
  readonly onEdit: (text: string) => void;
};

export function PromptView({ prompt, onEdit }: PromptViewProps) {
  const [isEditing, setIsEditing] = useState(false);
  if (isEditing) {
    return (
      <PromptEditor
        text={prompt.text}
        onCancel={() => setIsEditing(false)}
        onSave={(text) => {
          setIsEditing(false);
          onEdit(text);
        }}
      />
    );
  }
  return (
    <article className="turn prompt" aria-label="You">
      <ImageList images={prompt.images} />
      <p className="prompt-text" dir="auto">
        {revealBidiControls(prompt.text)}
      </p>
      <div className="turn-actions">
        <button
          type="button"
          className="button small ghost"
          aria-label="Edit message"
          onClick={() => setIsEditing(true)}
        >
          <EditIcon />
          Edit
        </button>
        <CopyButton text={prompt.text} label="Copy message" isSmall>
          Copy
        </CopyButton>
      </div>
    </article>
  );
}

type PromptEditorProps = {
  readonly text: string;
  readonly onSave: (text: string) => void;
  readonly onCancel: () => void;
};

function PromptEditor({ text, onSave, onCancel }: PromptEditorProps) {
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
        aria-label="Edited message"
        rows={3}
        dir="auto"
        value={draft}
        ref={focusField}
        onChange={(event) => setDraft(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") onCancel();
        }}
      />
      <div className="row">
        <button type="submit" className="button primary">
          Resend
        </button>
        <button type="button" className="button" onClick={onCancel}>
          Cancel
        </button>
        <span className="muted small">Later messages will be replaced.</span>
      </div>
    </form>
  );
}

function focusField(field: HTMLTextAreaElement | null): void {
  field?.focus();
}
