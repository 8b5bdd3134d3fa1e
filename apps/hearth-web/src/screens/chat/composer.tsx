import { CloseIcon } from "@hearth-and-keep/page-design";
import { type ChangeEvent, type KeyboardEvent, useLayoutEffect, useRef, useState } from "react";
import { ImageIcon, SendIcon, StopIcon } from "../../design/icons.tsx";
import type { NewPrompt } from "../../state/chats.ts";
import { drafts, emptyDraft, updateDraft } from "../../state/drafts.ts";
import { useStore } from "../../state/store.ts";
import { readImages } from "./read-images.ts";

export type ComposerProps = {
  /** The conversation that the message belongs to. */
  readonly id: string;
  readonly model: string;
  readonly acceptsImages: boolean;
  readonly isStreaming: boolean;
  readonly onSend: (prompt: NewPrompt) => void;
  readonly onStop: () => void;
};

const maxCharacters = 1_000_000;

/** The message box: Enter sends, Shift+Enter inserts a line break, Escape stops the response. */
export function Composer({ id, model, acceptsImages, isStreaming, onSend, onStop }: ComposerProps) {
  const { text, images } = useStore(drafts, (all) => all.get(id) ?? emptyDraft);
  const [error, setError] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => fitHeight(field.current), [text]);
  const isEmpty = model === "" || (text.trim() === "" && images.length === 0);
  const send = (): void => {
    if (isEmpty || isStreaming) return;
    onSend({ text: text.trim(), images });
    updateDraft(id, () => ({ text: "", images: [] }));
    setError("");
    field.current?.focus();
  };
  const attach = async ({ currentTarget }: ChangeEvent<HTMLInputElement>): Promise<void> => {
    const read = await readImages([...(currentTarget.files ?? [])], images.length);
    updateDraft(id, (draft) => ({ images: [...draft.images, ...read.images] }));
    setError(read.error);
    currentTarget.value = "";
  };
  const handleKeyDown = (event: KeyboardEvent): void => {
    // During IME composition, Enter confirms the composed text.
    if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) {
      event.preventDefault();
      send();
    }
    if (event.key === "Escape" && isStreaming) onStop();
  };
  return (
    <div className="composer">
      <ImageList
        images={images}
        onRemove={(index) => updateDraft(id, () => ({ images: images.toSpliced(index, 1) }))}
      />
      {error !== "" && (
        <p className="field-error" role="alert">
          {error}
        </p>
      )}
      <div className="composer-box">
        {acceptsImages && <AttachButton onChange={(event) => void attach(event)} />}
        <textarea
          id="message"
          ref={field}
          rows={1}
          dir="auto"
          maxLength={maxCharacters}
          aria-label="Message"
          placeholder={model === "" ? "Choose a model above" : `Message ${model}`}
          value={text}
          onChange={({ currentTarget }) => updateDraft(id, () => ({ text: currentTarget.value }))}
          onKeyDown={handleKeyDown}
        />
        <SendOrStop isStreaming={isStreaming} isEmpty={isEmpty} onSend={send} onStop={onStop} />
      </div>
      <p className="muted small composer-hint">Models can make mistakes. Check important information.</p>
    </div>
  );
}

/** Fits the height to the text, up to the max-height of the style sheet. */
function fitHeight(field: HTMLTextAreaElement | null): void {
  if (field === null) return;
  field.style.height = "auto";
  field.style.height = `${field.scrollHeight}px`;
}

function AttachButton({ onChange }: { readonly onChange: (event: ChangeEvent<HTMLInputElement>) => void }) {
  return (
    <label className="button ghost round attach" title="Attach images">
      <ImageIcon />
      <input
        type="file"
        className="visually-hidden"
        aria-label="Attach images"
        accept="image/png,image/jpeg,image/webp,image/gif"
        multiple
        onChange={onChange}
      />
    </label>
  );
}

type PicturesProps = { readonly images: readonly string[]; readonly onRemove?: (index: number) => void };

export function ImageList({ images, onRemove }: PicturesProps) {
  if (images.length === 0) return null;
  return (
    <ul className="attachments">
      {images.map((image, index) => (
        <li key={image.slice(-64) + index}>
          <img src={image} alt={`Attachment ${index + 1}`} />
          {onRemove !== undefined && (
            <button
              type="button"
              className="button small round"
              aria-label={`Remove attachment ${index + 1}`}
              onClick={() => onRemove(index)}
            >
              <CloseIcon />
            </button>
          )}
        </li>
      ))}
    </ul>
  );
}

type SendOrStopProps = {
  readonly isStreaming: boolean;
  readonly isEmpty: boolean;
  readonly onSend: () => void;
  readonly onStop: () => void;
};

function SendOrStop({ isStreaming, isEmpty, onSend, onStop }: SendOrStopProps) {
  const label = isStreaming ? "Stop" : "Send";
  return (
    <button
      type="button"
      className="button primary round"
      aria-label={label}
      title={label}
      disabled={isEmpty && !isStreaming}
      onClick={isStreaming ? onStop : onSend}
    >
      {isStreaming ? <StopIcon /> : <SendIcon />}
    </button>
  );
}
