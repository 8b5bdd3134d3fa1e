import type { TSchema } from "typebox";
import type { HearthRequest } from "./dependencies.ts";
import { ignoredHeader } from "./ignored-header.ts";
import { loadOptionNames } from "./load-settings.ts";
import type { HearthRoute } from "./routes.ts";

/** Headers of official clients about accounts that a local server does not have. */
const accountHeaders = [
  "anthropic-user-profile-id",
  "anthropic-workspace-id",
  "openai-organization",
  "openai-project",
];

/**
 * The same route, whose responses name the fields that it ignores. Schemas list exactly the fields that have an effect,
 * so the others are those that the schema of the route does not have.
 */
export function reportIgnoredFields(row: HearthRoute): HearthRoute {
  const { handle } = row;
  const bodyFields = listFields(row.bodySchema);
  const queryFields = listFields(row.querySchema);
  return {
    ...row,
    handle: (request, dependencies) => {
      const fields = [
        ...unlistedFields(request.body, bodyFields),
        ...unlistedNames(request.query, queryFields),
        ...adminFields(request),
        ...accountHeaders.filter((name) => request.headers[name] !== undefined),
      ];
      if (fields.length > 0) {
        request.addLogFields({ ignoredFields: fields.length });
        request.addResponseHeaders(ignoredHeader({ fields }));
      }
      return handle(request, dependencies);
    },
  };
}

/** Has an effect only if an admin sends it. */
function adminFields({ actor, body }: Pick<HearthRequest, "actor" | "body">): readonly string[] {
  if (actor.role === "admin") return [];
  const options = new Map(presentFields(body)).get("options");
  const present = new Set(presentFields(options).map(([name]) => name));
  return [
    ...presentFields(body).flatMap(([name]) => (name === "keep_alive" ? [name] : [])),
    ...loadOptionNames.filter((name) => present.has(name)).map((name) => `options.${name}`),
  ];
}

/** The fields of a schema, with the fields of each that is an object or a list of objects. */
export type ListedFields = ReadonlyMap<string, ReadonlySet<string> | undefined>;

/** Undefined without a schema, which allows anything. */
export function listFields(schema: TSchema | undefined): ListedFields | undefined {
  const fields = schema && propertiesOf(schema);
  return fields && new Map([...fields].map(([name, field]) => [name, innerFields(field)]));
}

/** Undefined for an object without listed fields, which is passed on whole: a JSON Schema, or an item of any type. */
function innerFields(schema: TSchema): ReadonlySet<string> | undefined {
  const branches = branchesOf(schema).map(({ items, ...branch }) => (items === undefined ? branch : items));
  const fields = branches.flatMap((branch) => propertiesOf(branch) ?? []);
  const isOpen = branches.flatMap(branchesOf).some(({ properties }) => isAnyObject(properties));
  return isOpen || fields.length === 0 ? undefined : new Set(fields.flatMap((each) => [...each.keys()]));
}

function isAnyObject(properties: SchemaKeywords["properties"]): boolean {
  const fields = properties && Object.entries(properties);
  return fields?.every(([name, field]) => name === "type" && !("const" in field)) === true;
}

/** The keywords that hold fields. */
type SchemaKeywords = {
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly anyOf?: readonly TSchema[];
  readonly items?: TSchema;
};

/** The types that a union allows, or the type itself. */
function branchesOf(schema: TSchema): readonly SchemaKeywords[] {
  // Every schema is an object with some of these keywords.
  const keywords = schema as SchemaKeywords;
  return keywords.anyOf?.flatMap(branchesOf) ?? [keywords];
}

/** The fields of all objects that a schema allows; undefined for any other type. */
function propertiesOf(schema: TSchema): ReadonlyMap<string, TSchema> | undefined {
  const objects = branchesOf(schema).flatMap(({ properties }) => properties ?? []);
  return objects.length === 0 ? undefined : new Map(objects.flatMap((each) => Object.entries(each)));
}

/**
 * Fields of a value, and of the objects in its fields, that are not listed. Null means absent in every API. What is
 * deeper, such as the content of messages, is not searched.
 */
export function unlistedFields(value: unknown, listed: ListedFields | undefined): readonly string[] {
  if (listed === undefined) return [];
  return presentFields(value).flatMap(([name, field]) => {
    if (!listed.has(name)) return [name];
    const inner = listed.get(name);
    if (inner === undefined) return [];
    const objects: readonly unknown[] = Array.isArray(field) ? field : [field];
    const unlisted = objects.flatMap(presentFields).filter(([key]) => !inner.has(key));
    return [...new Set(unlisted.map(([key]) => `${name}.${key}`))];
  });
}

/** Clients write a list in a query as `name[]` or `name[0]`. */
function unlistedNames(query: Readonly<Record<string, unknown>>, listed: ListedFields | undefined) {
  const named = Object.entries(query).map(([name, value]) => [name.replace(/\[.*$/su, ""), value] as const);
  return unlistedFields(Object.fromEntries(named), listed);
}

function presentFields(value: unknown): readonly (readonly [string, unknown])[] {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [];
  return Object.entries(value).filter(([, each]) => each !== null && each !== undefined);
}
