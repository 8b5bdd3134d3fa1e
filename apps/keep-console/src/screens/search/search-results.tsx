import { Link } from "@hearth-and-keep/page-design";
import type { FoundSecret } from "@hearth-and-keep/vault-contract";
import { hrefOf } from "../secrets/secrets-location.ts";

export type SearchResultsProps = {
  readonly items: readonly FoundSecret[];
  readonly onOpen: () => void;
};

/** Each is a link to its secret, so that it can be opened in another tab. */
export function SearchResults({ items, onOpen }: SearchResultsProps) {
  return (
    <ul className="search-results" aria-label="Results">
      {items.map((item) => (
        <li key={item.secret.id}>
          <Link to={hrefOfResult(item)} onClick={onOpen}>
            <span className="truncate">
              <span className="muted">{item.secret.folder === "/" ? "/" : `${item.secret.folder}/`}</span>
              {item.secret.name}
            </span>
            <span className="muted small truncate">{describePlace(item)}</span>
          </Link>
        </li>
      ))}
    </ul>
  );
}

export function hrefOfResult({ vault_id: vaultId, secret: { id, folder } }: FoundSecret): string {
  return hrefOf({ vaultId, folder, secretId: id });
}

function describePlace({ vault_name, organisation_name, secret: { tags } }: FoundSecret): string {
  const tagged = tags.length === 0 ? "" : `tagged ${tags.join(", ")}`;
  return [organisation_name, vault_name, tagged].filter((part) => part).join(" · ");
}
