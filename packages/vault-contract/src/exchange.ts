import { type Static, Type } from "typebox";
import { described } from "./described.ts";
import { expand, secretPath, secretValue } from "./secrets.ts";
import { closed, flag, revision, uuid } from "./shared-fields.ts";

const maxItems = 1000;
const format = Type.Enum(["dotenv", "json"], {
  title: "FileFormat",
  description: "Format of the file; `dotenv` by default",
});
const content = Type.String({ maxLength: 8 * 1024 * 1024, description: "The content of the file" });
const paths = Type.Array(secretPath, { maxItems });

/** The secrets of a folder; with `recursive`, of its subfolders too. */
const selection = {
  path: Type.Optional(described(secretPath, "The folder; the root by default")),
  recursive: Type.Optional(described(flag, "`true` includes its subfolders")),
  names: Type.Optional(
    Type.String({
      pattern: "^[^\\u0000-\\u001f\\u007f-\\u009f]+$",
      minLength: 1,
      maxLength: 8192,
      description: "Only secrets with these names, comma-separated",
      "x-expected": "names of secrets, separated by commas",
    }),
  ),
};

const maxIds = 100;

export const valuesQuery = Type.Object(
  {
    ...selection,
    ids: Type.Optional(
      Type.String({
        pattern: `^${uuid}(,${uuid}){0,${maxIds - 1}}$`,
        maxLength: maxIds * 37 - 1,
        description: `Only secrets with these ids, comma-separated, at most ${maxIds}; not with \`inherit\``,
        "x-expected": `up to ${maxIds} ids of secrets, separated by commas`,
      }),
    ),
    expand,
    inherit: Type.Optional(
      described(flag, "`true` adds the values that an environment inherits from the vault's base"),
    ),
    as: Type.Optional(
      Type.Enum(["list", "map"], {
        title: "ValuesForm",
        description:
          "`map` returns the values of one folder by name, for programs that expect an object; not with `ids` or `recursive`",
      }),
    ),
  },
  closed,
);

const { id, path, version, type, value, encoding } = secretValue.properties;

const name = Type.String({ minLength: 1, maxLength: 255, description: "Name of the secret" });

const namedValue = Type.Object(
  {
    id,
    path,
    from: Type.Optional(
      described(
        secretPath,
        "With `inherit`, the path of the secret that has the value; differs if inherited",
      ),
    ),
    name,
    version,
    type,
    value,
    encoding,
  },
  { ...closed, title: "NamedValue", description: "One of several values" },
);

export const secretValues = Type.Object(
  {
    revision,
    items: Type.Array(namedValue, { maxItems, description: "The values, by path" }),
  },
  { ...closed, title: "SecretValues", description: "The values of many secrets" },
);

export type SecretValues = Static<typeof secretValues>;

/** For clients that cannot read a list, such as External Secrets Operator. */
const secretValueMap = Type.Object(
  {
    revision,
    values: Type.Record(name, value, {
      maxProperties: maxItems,
      description: "Values by name, those of type `binary` and `file` in base64",
    }),
    base64: Type.Array(name, { maxItems, description: "Names of the values that are in base64" }),
  },
  { ...closed, title: "SecretValueMap", description: "The values of a folder by name" },
);

export type SecretValueMap = Static<typeof secretValueMap>;

/** As `as` says. */
export const readValuesResponse = Type.Union([secretValues, secretValueMap]);

/** `dotenv` by default. */
const optionalFormat = Type.Optional(format);

export const exportQuery = Type.Object({ format: optionalFormat, ...selection, expand }, closed);

export const exportedFile = Type.Object(
  {
    format,
    path: described(secretPath, "The exported folder"),
    revision,
    items: Type.Integer({ minimum: 0, maximum: maxItems, description: "How many secrets the file contains" }),
    content,
  },
  { ...closed, title: "ExportedFile", description: "A folder's secrets as a file" },
);

export type ExportedFile = Static<typeof exportedFile>;

export const importQuery = Type.Object(
  {
    format: optionalFormat,
    path: Type.Optional(described(secretPath, "The folder to import into; the root by default")),
    mode: Type.Optional(
      Type.Enum(["create", "overwrite"], {
        description: "`create`, the default, skips existing secrets; `overwrite` adds a version to them",
      }),
    ),
    dry_run: Type.Optional(described(flag, "`true` reports what would change and changes nothing")),
  },
  closed,
);

export const importRequest = Type.Object(
  { content },
  { ...closed, title: "ImportRequest", description: "A file to import" },
);

/** The result of an import or dry run: paths, never values. */
export const importReport = Type.Object(
  {
    dry_run: Type.Boolean({ description: "Whether nothing was changed" }),
    revision,
    created: described(paths, "Paths of new secrets"),
    changed: described(paths, "Paths of secrets that got a new version"),
    unchanged: described(paths, "Paths of secrets that already had the value"),
    skipped: described(paths, "Paths of existing secrets that were left alone"),
    repeated: described(paths, "Names that occur more than once in the file; the last occurrence was used"),
  },
  { ...closed, title: "ImportReport", description: "The result of an import: paths, never values" },
);

export type ImportReport = Static<typeof importReport>;
