import { type KeyboardEvent, useCallback, useEffect, useRef, useState } from "react";
import type { MenuAction } from "../../design/menu.tsx";
import { SharedMenu } from "../../design/shared-menu.tsx";
import { useVisibleRows, type VisibleRows } from "../../design/use-visible-rows.ts";
import type { FormatActor } from "./format-actor.ts";
import { entryName, type ListEntry, ListRow } from "./list-row.tsx";

export type SecretListProps = {
  readonly label: string;
  readonly entries: readonly ListEntry[];
  readonly isStale: boolean;
  readonly hasMore: boolean;
  readonly showsPaths: boolean;
  readonly isDeleted: boolean;
  readonly formatActor: FormatActor;
  readonly onMore: () => void;
  readonly onTag: (tag: string) => void;
  readonly actionsFor: (entry: ListEntry) => readonly MenuAction[];
};

/** The next page is requested when this few rows remain below the rendered ones. */
const prefetchRows = 120;

/** Folders and secrets as a virtualized table: only rows near the viewport are rendered. */
export function SecretList(props: SecretListProps) {
  const { entries, hasMore, onMore } = props;
  const body = useRef<HTMLDivElement>(null);
  const { first, end, rowHeight } = useVisibleRows(body, entries.length);
  const { active, onKeyDown, onFocus } = useArrowKeys(
    body,
    entries.length,
    Math.floor(window.innerHeight / rowHeight),
  );
  const [openMenu, setOpenMenu] = useState<{ readonly entry: ListEntry; readonly button: HTMLElement }>();
  const onMenu = useCallback((entry: ListEntry, button: HTMLElement) => setOpenMenu({ entry, button }), []);
  useEffect(() => {
    if (hasMore && end + prefetchRows >= entries.length) onMore();
  }, [hasMore, onMore, end, entries.length]);
  const indexes = renderedIndexes({ first, end }, active);
  return (
    <>
      <div
        className={props.isStale ? "card list stale" : "card list"}
        role="table"
        aria-label={props.label}
        aria-rowcount={hasMore ? -1 : entries.length + 1}
        aria-busy={props.isStale}
      >
        <ListHeader isDeleted={props.isDeleted} />
        <div
          ref={body}
          className="list-body"
          role="rowgroup"
          style={{ height: `${entries.length * rowHeight}px` }}
          onKeyDown={onKeyDown}
          onFocus={onFocus}
        >
          {indexes.map((index) => {
            const entry = entries[index];
            return entry === undefined ? null : (
              <ListRow
                key={entry.key}
                entry={entry}
                index={index}
                top={index * rowHeight}
                isActive={index === active}
                showsPath={props.showsPaths}
                formatActor={props.formatActor}
                onMenu={onMenu}
                onTag={props.onTag}
              />
            );
          })}
        </div>
      </div>
      <SharedMenu
        anchor={openMenu?.button}
        label={openMenu === undefined ? "" : `More actions for ${entryName(openMenu.entry)}`}
        actions={openMenu === undefined ? [] : props.actionsFor(openMenu.entry)}
        onClose={() => setOpenMenu(undefined)}
      />
    </>
  );
}

/** Includes the active row even when it is scrolled away, so that it keeps the focus. */
function renderedIndexes(
  { first, end }: Pick<VisibleRows, "first" | "end">,
  active: number,
): readonly number[] {
  const visible = Array.from({ length: Math.max(0, end - first) }, (_, offset) => first + offset);
  if (active < first) return [active, ...visible];
  return active >= end ? [...visible, active] : visible;
}

function ListHeader({ isDeleted }: { readonly isDeleted: boolean }) {
  return (
    <div role="rowgroup">
      <div className="list-header" role="row" aria-rowindex={1}>
        <div role="columnheader">Name</div>
        <div role="columnheader">Version</div>
        <div role="columnheader">Tags</div>
        <div role="columnheader">{isDeleted ? "Deleted" : "Updated"}</div>
        <div role="columnheader">By</div>
        <div role="columnheader">
          <span className="visually-hidden">Actions</span>
        </div>
      </div>
    </div>
  );
}

/** Roving tabindex: arrow keys move between rows, and Tab stops at one row only. */
function useArrowKeys(body: { readonly current: HTMLElement | null }, count: number, rowsPerScreen: number) {
  const [selected, setSelected] = useState(0);
  const shouldFocus = useRef(false);
  const active = Math.min(selected, Math.max(0, count - 1));
  useEffect(() => {
    if (!shouldFocus.current) return;
    shouldFocus.current = false;
    body.current?.querySelector<HTMLElement>(`[data-index="${active}"] a`)?.focus();
  }, [active, body]);
  const onKeyDown = (event: KeyboardEvent): void => {
    const steps: Readonly<Record<string, number>> = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: rowsPerScreen,
      PageUp: -rowsPerScreen,
      Home: -count,
      End: count,
    };
    const step = steps[event.key];
    if (step === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const next = Math.min(Math.max(0, active + step), count - 1);
    if (next === active) return;
    shouldFocus.current = true;
    setSelected(next);
  };
  const onFocus = (event: { readonly target: Element }): void => {
    const index = event.target.closest("[data-index]")?.getAttribute("data-index");
    if (typeof index === "string") setSelected(Number(index));
  };
  return { active, onKeyDown, onFocus };
}
