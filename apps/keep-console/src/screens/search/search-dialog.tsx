/**
 * @module
 * The search over all vaults that the person may list: a dialog that opens from every screen. It shows names, paths and
 * tags, and never a value.
 * Imported by the shell, when it is first opened.
 */
import { ErrorNotice, navigate } from "@hearth-and-keep/page-design";
import type { FoundSecretPage } from "@hearth-and-keep/vault-contract";
import { type KeyboardEvent, useEffect, useState } from "react";
import { Dialog } from "../../design/dialog.tsx";
import { SearchIcon } from "../../design/icons.tsx";
import { useDebounced } from "../../design/use-debounced.ts";
import { type QueryResult, useQuery } from "../../vault-api/use-query.ts";
import { hrefOfResult, SearchResults } from "./search-results.tsx";

const limit = 50;

export default function SearchDialog({ onClose }: { readonly onClose: () => void }) {
  const [query, setQuery] = useState("");
  const [text, setText] = useDebounced(query, setQuery);
  const words = query.trim();
  const address = `/api/secrets/search?query=${encodeURIComponent(words.toWellFormed())}&limit=${limit}`;
  const found = useQuery<FoundSecretPage>(words === "" ? undefined : address);
  const page = useLastPage(found, words);
  const [chosen, setChosen] = useState<string>();
  const results = text === query && found.state === "loaded" ? found.body.items : undefined;
  // Enter may come before the results of what was typed.
  useEffect(() => {
    if (chosen !== text || results === undefined) return;
    setChosen(undefined);
    const [first] = results;
    if (first === undefined) return;
    onClose();
    navigate(hrefOfResult(first));
  }, [chosen, text, results, onClose]);
  return (
    <Dialog title="Search all vaults" isWide onClose={onClose}>
      <search className="search-all" onKeyDown={moveFocus}>
        <div className="search-field">
          <SearchIcon />
          <input
            type="search"
            className="input"
            aria-label="Search names, paths and tags in all vaults"
            placeholder="Name, path or tag"
            autoComplete="off"
            spellCheck={false}
            maxLength={200}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key !== "Enter" || text.trim() === "") return;
              // Else the same key press would activate what has the focus once the dialog is closed.
              event.preventDefault();
              setChosen(text);
            }}
          />
        </div>
        {found.state === "failed" ? (
          <ErrorNotice text={found.error.message} onRetry={found.reload} />
        ) : (
          <p role="status" className="muted small">
            {words === "" ? "Secrets are found by their name, path or tags." : page && describeCount(page)}
          </p>
        )}
        <SearchResults items={page?.items ?? []} onOpen={onClose} />
      </search>
    </Dialog>
  );
}

/** The results of the text before stay until the next ones arrive, so that the list does not flicker. */
function useLastPage(found: QueryResult<FoundSecretPage>, words: string): FoundSecretPage | undefined {
  const [last, setLast] = useState<FoundSecretPage>();
  const current = words === "" || found.state === "failed" ? undefined : last;
  const next = words !== "" && found.state === "loaded" ? found.body : current;
  if (next !== last) setLast(next);
  return next;
}

function describeCount({ items, is_complete, next_cursor }: FoundSecretPage): string {
  if (!is_complete) return "The search took too long. Type more of the name or path.";
  if (next_cursor !== undefined) return `The first ${items.length} secrets. Type more of the name or path.`;
  if (items.length === 0) return "No results";
  return items.length === 1 ? "1 secret" : `${items.length} secrets`;
}

/** The arrow keys move between the field and the results. */
function moveFocus(event: KeyboardEvent<HTMLElement>): void {
  const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  if (step === 0) return;
  const stops = [...event.currentTarget.querySelectorAll<HTMLElement>("input, a")];
  const index = stops.findIndex((stop) => stop === document.activeElement);
  event.preventDefault();
  stops[Math.min(Math.max(index + step, 0), stops.length - 1)]?.focus();
}
