import { type KeyboardEvent, useCallback, useEffect, useRef, useState } from "react";
import type { MenuChoice } from "../../design/menu.tsx";
import { type RowWindow, useRowWindow } from "../../design/row-window.ts";
import { SharedMenu } from "../../design/shared-menu.tsx";
import type { SayWho } from "./format-actor.ts";
import { type Entry, ListRow, nameOf } from "./list-row.tsx";

export type SecretListProps = {
  readonly label: string;
  readonly entries: readonly Entry[];
  readonly isOld: boolean;
  readonly hasMore: boolean;
  readonly hasPaths: boolean;
  readonly isDeleted: boolean;
  readonly who: SayWho;
  readonly onMore: () => void;
  readonly onTag: (tag: string) => void;
  readonly choicesFor: (entry: Entry) => readonly MenuChoice[];
};

/** Rows before the end of what is there at which the next page is asked for. */
const rowsAhead = 120;

/** Folders and secrets as rows. Only those in sight are drawn, so ten thousand are as quick as ten. */
export function SecretList(props: SecretListProps) {
  const { entries, hasMore, onMore } = props;
  const body = useRef<HTMLDivElement>(null);
  const { first, end, rowHeight } = useRowWindow(body, entries.length);
  const { active, onKeyDown, onFocus } = useArrows(
    body,
    entries.length,
    Math.floor(window.innerHeight / rowHeight),
  );
  const [opened, setOpened] = useState<{ readonly entry: Entry; readonly button: HTMLElement }>();
  const openMenu = useCallback((entry: Entry, button: HTMLElement) => setOpened({ entry, button }), []);
  useEffect(() => {
    if (hasMore && end + rowsAhead >= entries.length) onMore();
  }, [hasMore, onMore, end, entries.length]);
  const indexes = indexesToDraw({ first, end }, active);
  return (
    <>
      <div
        className={props.isOld ? "card list old" : "card list"}
        role="table"
        aria-label={props.label}
        aria-rowcount={hasMore ? -1 : entries.length + 1}
        aria-busy={props.isOld}
      >
        <ListHead isDeleted={props.isDeleted} />
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
                hasPath={props.hasPaths}
                who={props.who}
                onMenu={openMenu}
                onTag={props.onTag}
              />
            );
          })}
        </div>
      </div>
      <SharedMenu
        anchor={opened?.button}
        label={opened === undefined ? "" : `More for ${nameOf(opened.entry)}`}
        choices={opened === undefined ? [] : props.choicesFor(opened.entry)}
        onClose={() => setOpened(undefined)}
      />
    </>
  );
}

/** Whoever has the focus keeps it, also out of sight. */
function indexesToDraw({ first, end }: Pick<RowWindow, "first" | "end">, active: number): readonly number[] {
  const inSight = Array.from({ length: Math.max(0, end - first) }, (_, offset) => first + offset);
  if (active < first) return [active, ...inSight];
  return active >= end ? [...inSight, active] : inSight;
}

function ListHead({ isDeleted }: { readonly isDeleted: boolean }) {
  return (
    <div role="rowgroup">
      <div className="list-head" role="row" aria-rowindex={1}>
        <div role="columnheader">Name</div>
        <div role="columnheader">Version</div>
        <div role="columnheader">Tags</div>
        <div role="columnheader">{isDeleted ? "Deleted" : "Updated"}</div>
        <div role="columnheader">By</div>
        <div role="columnheader">
          <span className="hidden-to-sight">Actions</span>
        </div>
      </div>
    </div>
  );
}

/** The arrow keys go from row to row; the Tab key comes to one row and leaves again. */
function useArrows(body: { readonly current: HTMLElement | null }, count: number, rowsOfScreen: number) {
  const [chosen, setChosen] = useState(0);
  const wantsFocus = useRef(false);
  const active = Math.min(chosen, Math.max(0, count - 1));
  useEffect(() => {
    if (!wantsFocus.current) return;
    wantsFocus.current = false;
    body.current?.querySelector<HTMLElement>(`[data-index="${active}"] a`)?.focus();
  }, [active, body]);
  const onKeyDown = (event: KeyboardEvent): void => {
    const steps: Readonly<Record<string, number>> = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: rowsOfScreen,
      PageUp: -rowsOfScreen,
      Home: -count,
      End: count,
    };
    const step = steps[event.key];
    if (step === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const next = Math.min(Math.max(0, active + step), count - 1);
    if (next === active) return;
    wantsFocus.current = true;
    setChosen(next);
  };
  const onFocus = (event: { readonly target: Element }): void => {
    const index = event.target.closest("[data-index]")?.getAttribute("data-index");
    if (typeof index === "string") setChosen(Number(index));
  };
  return { active, onKeyDown, onFocus };
}
