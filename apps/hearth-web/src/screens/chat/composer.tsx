import { CloseIcon } from "@hearth-and-keep/page-design";
import { type ChangeEvent, type KeyboardEvent, useLayoutEffect, useRef, useState } from "react";
import { ImageIcon, SendIcon, StopIcon } from "../../design/icons.tsx";
import type { NewQuestion } from "../../state/chats.ts";
import { changeDraft, drafts, noDraft } from "../../state/drafts.ts";
import { useStore } from "../../state/store.ts";
import { readImages } from "./read-images.ts";

export type ComposerProps = {
  /** The conversation whose question is written here. */
  readonly id: string;
  readonly model: string;
  readonly takesImages: boolean;
  readonly isAnswering: boolean;
  readonly onSend: (question: NewQuestion) => void;
  readonly onStop: () => void;
};

const mostCharacters = 1_000_000;

/** The box one writes in: Enter sends, Shift Enter makes a line, Escape stops the answer. */
export function Composer({ id, model, takesImages, isAnswering, onSend, onStop }: ComposerProps) {
  const { text, images } = useStore(drafts, (all) => all.get(id) ?? noDraft);
  const [mistake, setMistake] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => fitHeight(field.current), [text]);
  const isEmpty = text.trim() === "" && images.length === 0;
  const send = (): void => {
    if (isEmpty || isAnswering) return;
    onSend({ text: text.trim(), images });
    changeDraft(id, () => ({ text: "", images: [] }));
    setMistake("");
    field.current?.focus();
  };
  const attach = async ({ currentTarget }: ChangeEvent<HTMLInputElement>): Promise<void> => {
    const read = await readImages([...(currentTarget.files ?? [])], images.length);
    changeDraft(id, (draft) => ({ images: [...draft.images, ...read.images] }));
    setMistake(read.mistake);
    currentTarget.value = "";
  };
  const press = (event: KeyboardEvent): void => {
    // While a word is being composed, Enter ends the word.
    if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) {
      event.preventDefault();
      send();
    }
    if (event.key === "Escape" && isAnswering) onStop();
  };
  return (
    <div className="composer">
      <Pictures
        images={images}
        onRemove={(place) => changeDraft(id, () => ({ images: images.toSpliced(place, 1) }))}
      />
      {mistake !== "" && (
        <p className="mistake" role="alert">
          {mistake}
        </p>
      )}
      <div className="composer-box">
        {takesImages && <AttachButton onChange={(event) => void attach(event)} />}
        <textarea
          id="question"
          ref={field}
          rows={1}
          dir="auto"
          maxLength={mostCharacters}
          aria-label="Your question"
          placeholder={`Ask ${model}`}
          value={text}
          onChange={({ currentTarget }) => changeDraft(id, () => ({ text: currentTarget.value }))}
          onKeyDown={press}
        />
        <SendOrStop isAnswering={isAnswering} isEmpty={isEmpty} onSend={send} onStop={onStop} />
      </div>
      <p className="quiet small composer-hint">Models make mistakes. Check what matters.</p>
    </div>
  );
}

/** As high as its text, up to what its style allows. */
function fitHeight(field: HTMLTextAreaElement | null): void {
  if (field === null) return;
  field.style.height = "auto";
  field.style.height = `${field.scrollHeight}px`;
}

function AttachButton({ onChange }: { readonly onChange: (event: ChangeEvent<HTMLInputElement>) => void }) {
  return (
    <label className="button bare round attach" title="Attach images">
      <ImageIcon />
      <input
        type="file"
        className="hidden-to-sight"
        aria-label="Attach images"
        accept="image/png,image/jpeg,image/webp,image/gif"
        multiple
        onChange={onChange}
      />
    </label>
  );
}

type PicturesProps = { readonly images: readonly string[]; readonly onRemove?: (place: number) => void };

export function Pictures({ images, onRemove }: PicturesProps) {
  if (images.length === 0) return null;
  return (
    <ul className="pictures">
      {images.map((image, place) => (
        <li key={image.slice(-64) + place}>
          <img src={image} alt={`Attachment ${place + 1}`} />
          {onRemove !== undefined && (
            <button
              type="button"
              className="button small round"
              aria-label={`Remove attachment ${place + 1}`}
              onClick={() => onRemove(place)}
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
  readonly isAnswering: boolean;
  readonly isEmpty: boolean;
  readonly onSend: () => void;
  readonly onStop: () => void;
};

function SendOrStop({ isAnswering, isEmpty, onSend, onStop }: SendOrStopProps) {
  const word = isAnswering ? "Stop" : "Send";
  return (
    <button
      type="button"
      className="button main round"
      aria-label={word}
      title={word}
      disabled={isEmpty && !isAnswering}
      onClick={isAnswering ? onStop : onSend}
    >
      {isAnswering ? <StopIcon /> : <SendIcon />}
    </button>
  );
}
