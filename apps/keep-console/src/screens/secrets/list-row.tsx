import { Link } from "@hearth-and-keep/page-design";
import type { SecretMetadata } from "@hearth-and-keep/vault-contract";
import { memo } from "react";
import { FolderIcon, MoreIcon } from "../../design/icons.tsx";
import { RelativeTime } from "../../design/relative-time.tsx";
import type { FormatActor } from "./format-actor.ts";
import { ListValue } from "./list-value.tsx";
import type { ListedValue } from "./use-list-values.ts";

export type ListEntry =
  | { readonly kind: "folder"; readonly key: string; readonly path: string; readonly to: string }
  | { readonly kind: "secret"; readonly key: string; readonly secret: SecretMetadata; readonly to: string };

export type ListRowProps = {
  readonly entry: ListEntry;
  readonly index: number;
  readonly top: number;
  /** The single row in the tab order (roving tabindex). */
  readonly isActive: boolean;
  /** Shows the full path, in lists that span folders. */
  readonly showsPath: boolean;
  readonly formatActor: FormatActor;
  /** Of a secret in a list with values. */
  readonly value: ListedValue | undefined;
  readonly onMenu: (entry: ListEntry, button: HTMLElement) => void;
  readonly onTag: (tag: string) => void;
  readonly isSelected: boolean;
  /** With `isRange`, together with the rows between it and the one selected before. */
  readonly onSelect: (index: number, isRange: boolean) => void;
};

export const ListRow = memo(function ListRow(props: ListRowProps) {
  const { entry, index, top, isActive, onMenu } = props;
  const tabIndex = isActive ? 0 : -1;
  const name = entryName(entry);
  return (
    <div
      className={props.isSelected ? "list-row selected" : "list-row"}
      role="row"
      aria-rowindex={index + 2}
      data-index={index}
      style={{ transform: `translateY(${top}px)` }}
    >
      <div role="cell" className="list-select">
        <input
          type="checkbox"
          aria-label={`Select ${name}`}
          checked={props.isSelected}
          tabIndex={tabIndex}
          // A click has the Shift key, unlike a change.
          onClick={({ shiftKey }) => props.onSelect(index, shiftKey)}
          onChange={() => undefined}
        />
      </div>
      <div role="cell" className="list-name">
        {entry.kind === "folder" && <FolderIcon />}
        <Link to={entry.to} tabIndex={tabIndex} className="truncate" title={name}>
          {props.showsPath && entry.kind === "secret" ? <PathText secret={entry.secret} /> : name}
        </Link>
      </div>
      {entry.kind === "secret" ? (
        <SecretCells
          secret={entry.secret}
          formatActor={props.formatActor}
          value={props.value}
          onTag={props.onTag}
          tabIndex={tabIndex}
        />
      ) : (
        <div role="cell" className="list-kind muted">
          Folder
        </div>
      )}
      <div role="cell" className="list-menu">
        <button
          type="button"
          className="button ghost square"
          aria-label={`More actions for ${name}`}
          aria-haspopup="menu"
          tabIndex={tabIndex}
          onClick={(event) => onMenu(entry, event.currentTarget)}
        >
          <MoreIcon />
        </button>
      </div>
    </div>
  );
});

export function entryName(entry: ListEntry): string {
  return entry.kind === "folder" ? (entry.path.split("/").at(-1) ?? entry.path) : entry.secret.name;
}

/** For a folder, a path that no secret has, so that only patterns that cover everything in it match. */
export function accessPathOf(entry: ListEntry): string {
  return entry.kind === "secret" ? entry.secret.path : `${entry.path}/\u0000/\u0000`;
}

function PathText({ secret: { folder, name } }: { readonly secret: SecretMetadata }) {
  return (
    <>
      <span className="muted">{folder === "/" ? "/" : `${folder}/`}</span>
      {name}
    </>
  );
}

type SecretCellsProps = Pick<ListRowProps, "formatActor" | "value" | "onTag"> & {
  readonly secret: SecretMetadata;
  readonly tabIndex: number;
};

const maxShownTags = 3;

function SecretCells({ secret, formatActor, value, onTag, tabIndex }: SecretCellsProps) {
  const [shown, hidden] = [secret.tags.slice(0, maxShownTags), secret.tags.slice(maxShownTags)];
  return (
    <>
      {value !== undefined && (
        <div role="cell" className="list-value">
          <ListValue secret={secret} listed={value} />
        </div>
      )}
      <div role="cell" className="list-version">
        <span className="visually-hidden">version </span>
        <span aria-hidden="true">v</span>
        {secret.version}
      </div>
      <div role="cell" className="list-tags">
        {shown.map((tag) => (
          <button
            key={tag}
            type="button"
            className="badge truncate"
            tabIndex={tabIndex}
            aria-label={`Filter by tag ${tag}`}
            onClick={() => onTag(tag)}
          >
            <span className="truncate">{tag}</span>
          </button>
        ))}
        {hidden.length > 0 && (
          <span className="muted small" title={hidden.join(", ")}>
            +{hidden.length}
          </span>
        )}
      </div>
      <div role="cell" className="list-updated">
        <RelativeTime at={secret.deleted_at ?? secret.updated_at} />
      </div>
      <div role="cell" className="list-actor truncate">
        {formatActor(secret.updated_by)}
      </div>
    </>
  );
}
