import { Link } from "@hearth-and-keep/page-design";
import { Empty } from "../../design/empty.tsx";
import type { Deed } from "./dialogs.tsx";
import { addressOf, type SecretsPlace } from "./secrets-location.ts";

export type NothingHereProps = { readonly place: SecretsPlace; readonly onDeed: (deed: Deed) => void };

/** Why there is nothing to be seen, and what to do next. */
export function NothingHere({ place, onDeed }: NothingHereProps) {
  const { vaultId, folder, text, tag, isDeleted } = place;
  if (isDeleted)
    return <Empty title="Nothing was deleted lately">Deleted secrets stay here for 30 days.</Empty>;
  if (text.trim() !== "" || tag !== "") {
    return (
      <Empty
        title="Nothing found"
        action={
          <Link className="button" to={addressOf({ vaultId, folder })}>
            Show all
          </Link>
        }
      >
        No name or folder in this vault has that in it. Values and notes are not searched.
      </Empty>
    );
  }
  return (
    <Empty
      title={folder === "/" ? "No secrets yet" : "This folder is empty"}
      action={
        <button type="button" className="button" onClick={() => onDeed({ kind: "import" })}>
          Import from .env
        </button>
      }
    >
      Make the first one with New secret, or bring what you have in a file.
    </Empty>
  );
}
