import { Link } from "@hearth-and-keep/page-design";
import { addressOf, type SecretsPlace, trailOf } from "./secrets-location.ts";

/** Where one is, and the way up. */
export function FolderTrail({ place }: { readonly place: SecretsPlace }) {
  const { vaultId, folder, text, tag, isDeleted } = place;
  const top = addressOf({ vaultId });
  if (isDeleted || text.trim() !== "" || tag !== "") {
    return (
      <nav className="trail" aria-label="Folders">
        <Link to={folder === "/" ? top : addressOf({ vaultId, folder })}>Back to folders</Link>
        <span aria-current="page" className="breaks">
          {isDeleted ? "Recently deleted" : sayFound(text.trim(), tag)}
        </span>
      </nav>
    );
  }
  const trail = trailOf(folder);
  return (
    <nav className="trail" aria-label="Folders">
      {trail.length === 0 ? <span aria-current="page">All secrets</span> : <Link to={top}>All secrets</Link>}
      {trail.map(({ path, name }, index) =>
        index === trail.length - 1 ? (
          <span key={path} aria-current="page" className="breaks">
            {name}
          </span>
        ) : (
          <Link key={path} to={addressOf({ vaultId, folder: path })} className="breaks">
            {name}
          </Link>
        ),
      )}
    </nav>
  );
}

function sayFound(text: string, tag: string): string {
  const parts = [text === "" ? "" : `“${text}”`, tag === "" ? "" : `tagged ${tag}`];
  return `In the whole vault: ${parts.filter((part) => part !== "").join(", ")}`;
}
