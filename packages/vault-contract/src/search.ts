import { type Static, Type } from "typebox";
import { displayName } from "./accounts.ts";
import { described } from "./described.ts";
import { secret } from "./secrets.ts";
import { closed, cursor, id, label, lineOfText, nextCursor, pageLimit } from "./shared-fields.ts";

export const searchQuery = Type.Object(
  {
    query: described(
      lineOfText(200),
      "Lists secrets of which each of these words is in the path or in a tag, in any case; at most 10 words",
    ),
    limit: Type.Optional(pageLimit),
    cursor: Type.Optional(cursor),
  },
  closed,
);

const foundSecret = Type.Object(
  {
    vault_id: described(id, "The vault that contains the secret"),
    vault_name: described(label, "Name of that vault"),
    organisation_id: Type.Optional(
      described(
        id,
        "The organisation of the vault; absent for vaults of the account that you authenticate as",
      ),
    ),
    organisation_name: Type.Optional(described(displayName, "Name of that organisation; absent as its id")),
    secret,
  },
  { ...closed, title: "FoundSecret", description: "A secret and the vault that contains it" },
);

export type FoundSecret = Static<typeof foundSecret>;

/** In order of account, vault, folder and name. */
export const foundSecretPage = Type.Object(
  {
    items: Type.Array(foundSecret, { maxItems: 200, description: "The secrets of this page" }),
    is_complete: Type.Boolean({
      description: "False when the search took too long and ended early; search for more of the path",
    }),
    next_cursor: nextCursor,
  },
  { ...closed, title: "FoundSecretPage", description: "A page of secrets that match a search" },
);

export type FoundSecretPage = Static<typeof foundSecretPage>;
