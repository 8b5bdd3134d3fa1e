import { CloseIcon } from "@hearth-and-keep/page-design";
import { type RefObject, useId } from "react";
import { SearchIcon } from "../../design/icons.tsx";
import { useDebounced } from "../../design/use-debounced.ts";
import { navigateTo, type SecretsLocation } from "./secrets-location.ts";

export type ToolbarProps = {
  readonly location: SecretsLocation;
  /** Suggestions: the tags of the loaded secrets. */
  readonly tags: readonly string[];
  readonly search: RefObject<HTMLInputElement | null>;
};

/** Name search over the whole vault, and the tag filter. */
export function Toolbar({ location, tags, search }: ToolbarProps) {
  const id = useId();
  const [text, setText] = useDebounced(location.search, (next) =>
    navigateTo(location, { search: next }, true),
  );
  const [tag, setTag] = useDebounced(location.tag, (next) => navigateTo(location, { tag: next }, true));
  return (
    <search className="toolbar">
      <div className="search-field">
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
