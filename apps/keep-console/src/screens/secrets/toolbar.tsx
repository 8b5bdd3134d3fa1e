import { CloseIcon } from "@hearth-and-keep/page-design";
import { type RefObject, useEffect, useId, useState } from "react";
import { SearchIcon } from "../../design/icons.tsx";
import { goTo, type SecretsPlace } from "./secrets-location.ts";

export type ToolbarProps = {
  readonly place: SecretsPlace;
  /** Of what is in sight, to choose from. */
  readonly tags: readonly string[];
  readonly search: RefObject<HTMLInputElement | null>;
};

/** Long enough for a second letter, short enough not to be felt. */
const pauseMilliseconds = 60;

/** Search over the whole vault, and the one tag that is shown. */
export function Toolbar({ place, tags, search }: ToolbarProps) {
  const id = useId();
  const [text, setText] = useLate(place.text, (next) => goTo(place, { text: next }, true));
  const [tag, setTag] = useLate(place.tag, (next) => goTo(place, { tag: next }, true));
  return (
    <search className="toolbar">
      <div className="search">
        <SearchIcon />
        <input
          ref={search}
          type="search"
          className="input"
          aria-label="Search names in the whole vault"
          aria-keyshortcuts="/"
          placeholder="Search names"
          autoComplete="off"
          spellCheck={false}
          maxLength={255}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        <kbd aria-hidden="true">/</kbd>
      </div>
      <div className="tag-filter">
        <input
          className="input"
          aria-label="Show only one tag"
          placeholder="Tag"
          list={`${id}-tags`}
          autoComplete="off"
          spellCheck={false}
          maxLength={64}
          value={tag}
          onChange={(event) => setTag(event.currentTarget.value)}
        />
        <datalist id={`${id}-tags`}>
          {tags.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
        {tag !== "" && (
          <button
            type="button"
            className="button bare square"
            aria-label="Show all tags"
            onClick={() => setTag("")}
          >
            <CloseIcon />
          </button>
        )}
      </div>
    </search>
  );
}

/** Text that is written here at once, and goes on after a short pause. */
function useLate(given: string, onSettled: (text: string) => void): [string, (text: string) => void] {
  const [text, setText] = useState(given);
  const [last, setLast] = useState(given);
  // Changed from elsewhere, or by what was written here and is the same.
  if (last !== given) {
    setLast(given);
    setText(given);
  }
  useEffect(() => {
    if (text === given) return undefined;
    const timer = setTimeout(onSettled, pauseMilliseconds, text);
    return () => clearTimeout(timer);
  }, [text, given, onSettled]);
  return [text, setText];
}
