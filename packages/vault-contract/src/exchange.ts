import { type Static, Type } from "typebox";
import { secretPath, secretValue } from "./secrets.ts";
import { flag, revision } from "./shared-fields.ts";

const closed = { additionalProperties: false } as const;
const maxItems = 1000;
const format = Type.Enum(["dotenv", "json"]);
/** The content of the file. */
const content = Type.String({ maxLength: 8 * 1024 * 1024 });
const paths = Type.Array(secretPath, { maxItems });

/** The secrets of a folder; with `recursive`, of its subfolders too. */
const selection = { path: Type.Optional(secretPath), recursive: Type.Optional(flag) };
const expand = Type.Optional(Type.Enum(["references"]));

export const valuesQuery = Type.Object(
  {
    ...selection,
    /** Comma-separated secret names. */
    names: Type.Optional(
      Type.String({ pattern: "^[^\\u0000-\\u001f\\u007f-\\u009f]+$", minLength: 1, maxLength: 8192 }),
    ),
    expand,
  },
  closed,
);

const { id, path, version, type, value, encoding } = secretValue.properties;

export const secretValues = Type.Object(
  {
    revision,
    items: Type.Array(
      Type.Object(
        { id, path, name: Type.String({ minLength: 1, maxLength: 255 }), version, type, value, encoding },
        closed,
      ),
      { maxItems },
    ),
  },
  closed,
);

export type SecretValues = Static<typeof secretValues>;

export const exportQuery = Type.Object({ format, ...selection, expand }, closed);

export const exportedFile = Type.Object(
  {
    format,
    path: secretPath,
    revision,
    items: Type.Integer({ minimum: 0, maximum: maxItems }),
    content,
  },
  closed,
);

export type ExportedFile = Static<typeof exportedFile>;

export const importQuery = Type.Object(
  {
    format,
    path: Type.Optional(secretPath),
    /** `create` skips existing secrets, `overwrite` adds a version to them. */
    mode: Type.Optional(Type.Enum(["create", "overwrite"])),
    dry_run: Type.Optional(flag),
  },
  closed,
);

export const importRequest = Type.Object({ content }, closed);

/** The result of an import or dry run: paths, never values. */
export const importReport = Type.Object(
  {
    dry_run: Type.Boolean(),
    revision,
    created: paths,
    changed: paths,
    unchanged: paths,
    skipped: paths,
    /** Names that occur more than once in the file; the last occurrence was used. */
    repeated: paths,
  },
  closed,
);

export type ImportReport = Static<typeof importReport>;
