import { Link } from "@hearth-and-keep/page-design";
import type { ChangePage } from "@hearth-and-keep/vault-contract";
import { useQuery } from "../../vault-api/use-query.ts";
import { hrefOf } from "../secrets/secrets-location.ts";
import { changesPath } from "./changes-path.ts";

export type ChangesLinkProps = { readonly vaultId: string; readonly isCurrent: boolean };

/** The way to the proposed changes of a vault, with the number of pending ones: a page has all that a vault can have. */
export function ChangesLink({ vaultId, isCurrent }: ChangesLinkProps) {
  const page = useQuery<ChangePage>(`${changesPath(vaultId)}?limit=100`);
  const count = page.state === "loaded" ? page.body.items.length : 0;
  return (
    <Link
      className="button small"
      to={hrefOf({ vaultId, view: "changes" })}
      {...(isCurrent ? { "aria-current": "page" } : {})}
    >
      Changes
      {count > 0 && (
        <span className="badge count">
          {count}
          <span className="visually-hidden"> pending</span>
        </span>
      )}
    </Link>
  );
}
