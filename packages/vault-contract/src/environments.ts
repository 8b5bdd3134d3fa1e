import { type Static, Type } from "typebox";
import { described } from "./described.ts";
import { secretPath } from "./secrets.ts";
import { closed, revision } from "./shared-fields.ts";

const maxItems = 1000;
const paths = Type.Array(secretPath, { maxItems });

const left = described(secretPath, "One folder, e.g. `/staging`");
const right = described(secretPath, "The other folder, e.g. `/prod`");

export const compareQuery = Type.Object({ left, right }, closed);

const comparedSecret = Type.Object(
  {
    path: described(secretPath, "Path within both folders, e.g. `api/HOST`"),
    outcome: Type.Enum(["same", "different", "left_only", "right_only"], {
      title: "ComparisonOutcome",
      description: "Whether both folders have a secret there, and whether its type and value are the same",
    }),
    inherited: Type.Optional(
      Type.Enum(["left", "right", "both"], {
        title: "InheritingSide",
        description: "Which of the folders has it from the vault's base; absent if neither",
      }),
    ),
  },
  { ...closed, title: "ComparedSecret", description: "One path of two folders that were compared" },
);

export const folderComparison = Type.Object(
  {
    revision,
    left,
    right,
    items: Type.Array(comparedSecret, { maxItems: 4 * maxItems, description: "Every path, in order" }),
  },
  {
    ...closed,
    title: "FolderComparison",
    description: "How the values of two folders differ, without values",
  },
);

export type FolderComparison = Static<typeof folderComparison>;

export const promotion = Type.Object(
  {
    from: described(secretPath, "The folder to promote from, with its subfolders"),
    to: described(secretPath, "The folder to promote to"),
    names: Type.Optional(
      Type.Array(described(secretPath, "Path within `from`, e.g. `HOST` or `api/HOST`"), {
        minItems: 1,
        maxItems,
        uniqueItems: true,
        description: "Promotes only these secrets; all of them by default",
      }),
    ),
    if_revision: Type.Optional(
      described(revision, "Required revision of the vault: the `revision` of a comparison or a dry run"),
    ),
    dry_run: Type.Optional(
      Type.Boolean({ description: "`true` reports what would change and changes nothing" }),
    ),
  },
  { ...closed, title: "Promotion", description: "The values to copy from one folder to another" },
);

export const promotionReport = Type.Object(
  {
    dry_run: Type.Boolean({ description: "Whether nothing was changed" }),
    revision,
    created: described(paths, "Paths of new secrets"),
    changed: described(paths, "Paths of secrets that got a new version"),
    unchanged: described(paths, "Paths of secrets that already had the value"),
    local: Type.Array(secretPath, {
      maxItems: 10_000,
      description:
        "Paths of secrets that stay behind, because they or the ones they would replace have the tag `local`",
    }),
  },
  { ...closed, title: "PromotionReport", description: "The result of a promotion: paths, never values" },
);

export type PromotionReport = Static<typeof promotionReport>;
