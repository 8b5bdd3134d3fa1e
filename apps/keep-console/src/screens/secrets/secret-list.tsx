import { type KeyboardEvent, useCallback, useEffect, useRef, useState } from "react";
import type { MenuAction } from "../../design/menu.tsx";
import { SharedMenu } from "../../design/shared-menu.tsx";
import { useVisibleRows, type VisibleRows } from "../../design/use-visible-rows.ts";
import type { FormatActor } from "./format-actor.ts";
import { ListHeader } from "./list-header.tsx";
import { entryName, type ListEntry, ListRow, type ListRowProps } from "./list-row.tsx";
import { listKeyOf, type SecretsLocation } from "./secrets-location.ts";
import type { ListValues } from "./use-list-values.ts";
import type { Selection } from "./use-selection.ts";

export type SecretListProps = {
  readonly label: string;
  readonly entries: readonly ListEntry[];
  readonly isStale: boolean;
  readonly hasMore: boolean;
  readonly showsPaths: boolean;
  readonly location: SecretsLocation;
  readonly formatActor: FormatActor;
  /** Undefined without a column of values. */
  readonly valueOf: ListValues["valueOf"];
  readonly onMore: () => void;
  readonly onTag: (tag: string) => void;
  readonly selection: Selection;
  readonly actionsFor: (entry: ListEntry) => readonly MenuAction[];
};

/** The next page is requested when this few rows remain below the rendered ones. */
const prefetchRows = 120;

/** Folders and secrets as a virtualized table: only rows near the viewport are rendered. */
export function SecretList(props: SecretListProps) {
  const { entries, hasMore, onMore, selection, valueOf } = props;
  const body = useRef<HTMLDivElement>(null);
  const { first, end, rowHeight } = useVisibleRows(body, entries.length);
  const { active, onKeyDown, onFocus } = useArrowKeys(body, {
    list: listKeyOf(props.location),
    count: entries.length,
    rowsPerScreen: Math.floor(window.innerHeight / rowHeight),
  });
  useFocusRecovery({ body, entries, active, isSelecting: selection.keys.size > 0 });
  const { menu, onMenu } = useRowMenu(props.actionsFor);
  useEffect(() => {
    if (hasMore && end + prefetchRows >= entries.length) onMore();
  }, [hasMore, onMore, end, entries.length]);
  const indexes = renderedIndexes({ first, end }, active);
  return (
    <>
      <div
        className={`card list${props.isStale ? " stale" : ""}${valueOf === undefined ? "" : " with-values"}`}
        role="table"
        aria-label={props.label}
        aria-rowcount={hasMore ? -1 : entries.length + 1}
        aria-busy={props.isStale}
      >
        <ListHeader
          location={props.location}
          count={entries.length}
          selection={selection}
          hasValues={valueOf !== undefined}
        />
        <div
          ref={body}
          className="list-body"
          role="rowgroup"
          style={{ height: `${entries.length * rowHeight}px` }}
          onKeyDown={(event) => {
            onKeyDown(event);
            selectBySpace(event, () => selection.toggle(active, event.shiftKey));
          }}
          onFocus={onFocus}
        >
          <Rows list={props} {...{ indexes, active, rowHeight, onMenu }} />
        </div>
      </div>
      {menu}
    </>
  );
}

type RowsProps = {
  readonly list: SecretListProps;
  readonly indexes: readonly number[];
  readonly active: number;
  readonly rowHeight: number;
  readonly onMenu: ListRowProps["onMenu"];
};

function Rows({ list, indexes, active, rowHeight, onMenu }: RowsProps) {
  const { entries, selection, valueOf } = list;
  return indexes.map((index) => {
    const entry = entries[index];
    return entry === undefined ? null : (
      <ListRow
        key={entry.key}
        entry={entry}
        index={index}
        top={index * rowHeight}
        isActive={index === active}
        showsPath={list.showsPaths}
        formatActor={list.formatActor}
        value={entry.kind === "secret" ? valueOf?.(entry.secret) : undefined}
        onMenu={onMenu}
        onTag={list.onTag}
        isSelected={selection.keys.has(entry.key)}
        onSelect={selection.toggle}
      />
    );
  });
}

/** One menu for all rows, at the button that was pressed. */
function useRowMenu(actionsFor: SecretListProps["actionsFor"]) {
  const [open, setOpen] = useState<{ readonly entry: ListEntry; readonly button: HTMLElement }>();
  const onMenu = useCallback((entry: ListEntry, button: HTMLElement) => setOpen({ entry, button }), []);
  const menu = (
    <SharedMenu
      anchor={open?.button}
      label={open === undefined ? "" : `More actions for ${entryName(open.entry)}`}
      actions={open === undefined ? [] : actionsFor(open.entry)}
      onClose={() => setOpen(undefined)}
    />
  );
  return { menu, onMenu };
}

/** On the link of a row; the checkbox and the buttons in it handle the key themselves. */
function selectBySpace(event: KeyboardEvent, select: () => void): void {
  if (event.key !== " " || !(event.target instanceof HTMLAnchorElement)) return;
  event.preventDefault();
  select();
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

type FocusRecovery = Pick<SecretListProps, "entries"> & {
  readonly body: { readonly current: HTMLElement | null };
  readonly active: number;
  readonly isSelecting: boolean;
};

/** When an update has removed the focused element, such as the row of a deleted secret, the active row takes the focus. */
function useFocusRecovery({ body, entries, active, isSelecting }: FocusRecovery): void {
  const lastFocused = useRef<EventTarget | null>(null);
  useEffect(() => {
    const onFocusIn = ({ target }: FocusEvent): void => void (lastFocused.current = target);
    document.addEventListener("focusin", onFocusIn);
    return () => document.removeEventListener("focusin", onFocusIn);
  }, []);
  const row = useRef(active);
  row.current = active;
  useEffect(() => {
    const last = lastFocused.current;
    const isLost = document.activeElement === document.body && last instanceof Node && !last.isConnected;
    if (isLost && entries.length > 0)
      body.current
        ?.querySelector<HTMLElement>(`[data-index="${row.current}"] a`)
        ?.focus({ preventScroll: true });
  }, [body, entries, isSelecting]);
}

type ArrowKeys = { readonly list: string; readonly count: number; readonly rowsPerScreen: number };

/** Roving tabindex: arrow keys move between rows, and Tab stops at one row only, the first of another list. */
function useArrowKeys(
  body: { readonly current: HTMLElement | null },
  { list, count, rowsPerScreen }: ArrowKeys,
) {
  const [last, setLast] = useState({ list, row: 0 });
  const selected = last.list === list ? last.row : 0;
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
    setLast({ list, row: next });
  };
  const onFocus = (event: { readonly target: Element }): void => {
    const index = event.target.closest("[data-index]")?.getAttribute("data-index");
    if (typeof index === "string") setLast({ list, row: Number(index) });
  };
  return { active, onKeyDown, onFocus };
}
