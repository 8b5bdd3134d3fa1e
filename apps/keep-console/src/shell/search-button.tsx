import { useMemo, useState } from "react";
import { SearchIcon } from "../design/icons.tsx";
import { loadLater } from "../design/load-later.tsx";
import { useShortcuts } from "../design/use-shortcuts.ts";

const SearchDialog = loadLater(() => import("../screens/search/search-dialog.tsx"));

const isMac = /mac/iu.test(navigator.userAgent);

/** Opens the search over all vaults; looks like the field that it opens. */
export function SearchButton() {
  const [isOpen, setOpen] = useState(false);
  useShortcuts(useMemo(() => ({ "mod+k": () => setOpen(true) }), []));
  return (
    <>
      <button
        type="button"
        className="button search-button"
        aria-keyshortcuts="Control+K Meta+K"
        aria-haspopup="dialog"
        onClick={() => setOpen(true)}
      >
        <SearchIcon />
        <span>Search all vaults</span>
        <kbd aria-hidden="true">{isMac ? "⌘K" : "Ctrl K"}</kbd>
      </button>
      {isOpen && <SearchDialog onClose={() => setOpen(false)} />}
    </>
  );
}
