import { Link } from "@hearth-and-keep/page-design";
import { hrefOf, parentFolders, type SecretsLocation } from "./secrets-location.ts";

export function Breadcrumbs({ location }: { readonly location: SecretsLocation }) {
  const { vaultId, folder, search, tag, isDeleted, sort } = location;
  const root = hrefOf({ vaultId, sort });
  if (isDeleted || search.trim() !== "" || tag !== "") {
    return (
      <nav className="breadcrumbs" aria-label="Folders">
        <Link to={folder === "/" ? root : hrefOf({ vaultId, folder, sort })}>Back to folders</Link>
        <span aria-current="page" className="break-words">
          {isDeleted ? "Recently deleted" : describeSearch(search.trim(), tag)}
        </span>
      </nav>
    );
  }
  const folders = parentFolders(folder);
  return (
    <nav className="breadcrumbs" aria-label="Folders">
      {folders.length === 0 ? (
        <span aria-current="page">All secrets</span>
      ) : (
        <Link to={root}>All secrets</Link>
      )}
      {folders.map(({ path, name }, index) =>
        index === folders.length - 1 ? (
          <span key={path} aria-current="page" className="break-words">
            {name}
          </span>
        ) : (
          <Link key={path} to={hrefOf({ vaultId, folder: path, sort })} className="break-words">
            {name}
          </Link>
        ),
      )}
    </nav>
  );
}

function describeSearch(search: string, tag: string): string {
  if (search === "") return `Secrets tagged ${tag}`;
  return tag === "" ? `Results for “${search}”` : `Results for “${search}” tagged ${tag}`;
}
