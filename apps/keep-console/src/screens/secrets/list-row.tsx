import { Link } from "@hearth-and-keep/page-design";
import type { SecretMetadata } from "@hearth-and-keep/vault-contract";
import { memo } from "react";
import { FolderIcon, MoreIcon } from "../../design/icons.tsx";
import { Moment } from "../../design/moment.tsx";
import type { SayWho } from "./format-actor.ts";

export type Entry =
  | { readonly kind: "folder"; readonly key: string; readonly path: string; readonly to: string }
  | { readonly kind: "secret"; readonly key: string; readonly secret: SecretMetadata; readonly to: string };

export type ListRowProps = {
  readonly entry: Entry;
  readonly index: number;
  readonly top: number;
  /** The one row that the Tab key comes to. */
  readonly isActive: boolean;
  /** With its folder, where rows of several stand together. */
  readonly hasPath: boolean;
  readonly who: SayWho;
  readonly onMenu: (entry: Entry, button: HTMLElement) => void;
  readonly onTag: (tag: string) => void;
};

export const ListRow = memo(function ListRow(props: ListRowProps) {
  const { entry, index, top, isActive, onMenu } = props;
  const tabIndex = isActive ? 0 : -1;
  const name = nameOf(entry);
  return (
    <div
      className="list-row"
      role="row"
      aria-rowindex={index + 2}
      data-index={index}
      style={{ transform: `translateY(${top}px)` }}
    >
      <div role="cell" className="list-name">
        {entry.kind === "folder" && <FolderIcon />}
        <Link to={entry.to} tabIndex={tabIndex} className="one-line" title={name}>
          {props.hasPath && entry.kind === "secret" ? <PathText secret={entry.secret} /> : name}
        </Link>
      </div>
      {entry.kind === "secret" ? (
        <SecretCells secret={entry.secret} who={props.who} onTag={props.onTag} tabIndex={tabIndex} />
      ) : (
        <div role="cell" className="list-rest quiet">
          Folder
        </div>
      )}
      <div role="cell" className="list-menu">
        <button
          type="button"
          className="button bare square"
          aria-label={`More for ${name}`}
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

export function nameOf(entry: Entry): string {
  return entry.kind === "folder" ? (entry.path.split("/").at(-1) ?? entry.path) : entry.secret.name;
}

function PathText({ secret: { folder, name } }: { readonly secret: SecretMetadata }) {
  return (
    <>
      <span className="quiet">{folder === "/" ? "/" : `${folder}/`}</span>
      {name}
    </>
  );
}

type SecretCellsProps = Pick<ListRowProps, "who" | "onTag"> & {
  readonly secret: SecretMetadata;
  readonly tabIndex: number;
};

const mostTags = 3;

function SecretCells({ secret, who, onTag, tabIndex }: SecretCellsProps) {
  const [shown, hidden] = [secret.tags.slice(0, mostTags), secret.tags.slice(mostTags)];
  return (
    <>
      <div role="cell" className="list-version">
        <span className="hidden-to-sight">version </span>
        <span aria-hidden="true">v</span>
        {secret.version}
      </div>
      <div role="cell" className="list-tags">
        {shown.map((tag) => (
          <button
            key={tag}
            type="button"
            className="badge one-line"
            tabIndex={tabIndex}
            aria-label={`Show only the tag ${tag}`}
            onClick={() => onTag(tag)}
          >
            <span className="one-line">{tag}</span>
          </button>
        ))}
        {hidden.length > 0 && (
          <span className="quiet small" title={hidden.join(", ")}>
            +{hidden.length}
          </span>
        )}
      </div>
      <div role="cell" className="list-when">
        <Moment at={secret.deleted_at ?? secret.updated_at} />
      </div>
      <div role="cell" className="list-who one-line">
        {who(secret.updated_by)}
      </div>
    </>
  );
}
