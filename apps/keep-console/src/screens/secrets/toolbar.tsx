import { CloseIcon } from "@hearth-and-keep/page-design";
import { type RefObject, useEffect, useId, useState } from "react";
import { SearchIcon } from "../../design/icons.tsx";
import { navigateTo, type SecretsLocation } from "./secrets-location.ts";

export type ToolbarProps = {
  readonly location: SecretsLocation;
  /** Suggestions: the tags of the loaded secrets. */
  readonly tags: readonly string[];
  readonly search: RefObject<HTMLInputElement | null>;
};

/** Waits for the next keystroke of a fast typist without a noticeable delay. */
const debounceMilliseconds = 60;

/** Name search over the whole vault, and the tag filter. */
export function Toolbar({ location, tags, search }: ToolbarProps) {
  const id = useId();
  const [text, setText] = useDebounced(location.search, (next) =>
    navigateTo(location, { search: next }, true),
  );
  const [tag, setTag] = useDebounced(location.tag, (next) => navigateTo(location, { tag: next }, true));
  return (
    <search className="toolbar">
      <div className="search">
        <SearchIcon />
        <input
          ref={search}
          type="search"
          className="input"
          aria-label="Search names in this vault"
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
          aria-label="Filter by tag"
          placeholder="Tag"
          list={`${id}-tags`}
          autoComplete="off"
          spellCheck={false}
          maxLength={64}
          value={tag}
          onChange={(event) => setTag(event.currentTarget.value)}
        />
        <datalist id={`${id}-tags`}>
          {tags.map((suggestion) => (
            <option key={suggestion} value={suggestion} />
          ))}
        </datalist>
        {tag !== "" && (
          <button
            type="button"
            className="button ghost square"
            aria-label="Clear tag filter"
            onClick={() => setTag("")}
          >
            <CloseIcon />
          </button>
        )}
      </div>
    </search>
  );
}

/** Local text that updates at once and is passed on after a pause. */
function useDebounced(given: string, onSettled: (text: string) => void): [string, (text: string) => void] {
  const [text, setText] = useState(given);
  const [last, setLast] = useState(given);
  // The value changed elsewhere; when it changed from here, it equals the text already.
  if (last !== given) {
    setLast(given);
    setText(given);
  }
  useEffect(() => {
    if (text === given) return undefined;
    const timer = setTimeout(onSettled, debounceMilliseconds, text);
    return () => clearTimeout(timer);
  }, [text, given, onSettled]);
  return [text, setText];
}
