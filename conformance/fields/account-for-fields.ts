import type { FieldTable, ServedEndpoint } from "./field-table.ts";
import type { ClientEndpoint, ClientField, ClientTypes } from "./read-client-types.ts";
import { createTypeReader, type TypeReader } from "./sample-values.ts";

export type FieldState = "supported" | "ignored" | "refused";

/** One field of an endpoint, or one variant of the objects in a field. */
export type FieldRow = {
  readonly endpoint: string;
  /** Like `tools`, `reasoning.effort`, or `tools:web_search` for a variant. */
  readonly name: string;
  readonly state: FieldState;
  readonly location: ClientField["location"];
  readonly sample: unknown;
};

export type RefusedEndpoint = {
  readonly name: string;
  readonly reason: string;
  readonly fieldCount: number;
};

export type Accounts = {
  /** Fields of endpoints that are served. */
  readonly rows: readonly FieldRow[];
  readonly refusedEndpoints: readonly RefusedEndpoint[];
  readonly endpointCount: number;
  /** What the types have and the table has not. */
  readonly missing: readonly string[];
  /** What the table has and the types have not. */
  readonly unknown: readonly string[];
};

/** Compares the types of a client with the reviewed table. */
export function accountForFields({ endpoints, checker }: ClientTypes, table: FieldTable): Accounts {
  const reader = createTypeReader(checker);
  const served = endpoints.filter(({ name }) => table.served[name] !== undefined);
  const listed = served.flatMap((endpoint) => listFields(endpoint, table.served[endpoint.name], reader));
  const states = listStates(table);
  const rows = listed.flatMap((field) => {
    const state = states.get(keyOf(field));
    return state === undefined ? [] : [{ ...field, state }];
  });
  const others = endpoints.filter((endpoint) => !served.includes(endpoint));
  const refusedEndpoints = others.flatMap((endpoint) => refuse(endpoint, table) ?? []);
  const known = new Set(listed.map(keyOf));
  const names = new Set(endpoints.map(({ name }) => name));
  return {
    rows,
    refusedEndpoints,
    endpointCount: endpoints.length,
    missing: [
      ...listed.map(keyOf).filter((key) => !states.has(key)),
      ...others.flatMap((endpoint) => (refuse(endpoint, table) === undefined ? [endpoint.name] : [])),
    ],
    unknown: [
      ...[...states.keys()].filter((key) => !known.has(key)),
      ...Object.keys(table.served).filter((name) => !names.has(name)),
      ...Object.keys(table.refused).filter((start) => !others.some(({ name }) => isUnder(name, start))),
    ],
  };
}

type Field = Omit<FieldRow, "state">;

function keyOf({ endpoint, name }: Pick<FieldRow, "endpoint" | "name">): string {
  return `${endpoint} ${name}`;
}

/** Lists of objects of any type, which are read by their type, and bytes. */
const openLists = new Set(["input", "items", "system", "file"]);

/** Fields of supported objects are listed too; of ignored and refused ones the object is enough. */
function listFields(
  { name: endpoint, fields }: ClientEndpoint,
  { supported, variants = {} }: ServedEndpoint = { supported: [] },
  reader: TypeReader,
): readonly Field[] {
  const own = [...fields].flatMap(([name, { location, type }]): Field[] => {
    const isSearched = supported.includes(name) && location === "body" && !openLists.has(name);
    const inside = isSearched ? reader.fieldsOf(type) : new Map();
    return [
      { endpoint, name, location, sample: reader.sample(type) },
      ...[...inside].map(([key, inner]) => ({
        endpoint,
        name: `${name}.${key}`,
        location,
        sample: reader.sample(inner),
      })),
    ];
  });
  const ofVariants = Object.keys(variants).flatMap((path) =>
    [...variantsAt(path, fields, reader)].map(([type, sample]): Field => {
      return { endpoint, name: `${path}:${type}`, location: "body", sample };
    }),
  );
  return [...own, ...ofVariants];
}

function variantsAt(
  path: string,
  fields: ClientEndpoint["fields"],
  reader: TypeReader,
): ReadonlyMap<string, object> {
  const [first = "", ...rest] = path.split(".");
  let types = [fields.get(first)?.type].filter((type) => type !== undefined);
  for (const name of rest) types = types.flatMap((type) => reader.typesAt(type, name));
  return new Map(types.flatMap((type) => [...reader.variants(type)]));
}

function listStates({ served }: FieldTable): ReadonlyMap<string, FieldState> {
  const pairs = Object.entries(served).flatMap(([endpoint, { variants = {}, ...own }]) => [
    ...statesOf(own).map(([name, state]) => [keyOf({ endpoint, name }), state] as const),
    ...Object.entries(variants).flatMap(([path, variant]) =>
      statesOf(variant).map(
        ([type, state]) => [keyOf({ endpoint, name: `${path}:${type}` }), state] as const,
      ),
    ),
  ]);
  return new Map(pairs);
}

function statesOf({ supported, ignored = {}, refused = {} }: Omit<ServedEndpoint, "variants">) {
  return [
    ...supported.map((name) => [name, "supported"] as const),
    ...Object.keys(ignored).map((name) => [name, "ignored"] as const),
    ...Object.keys(refused).map((name) => [name, "refused"] as const),
  ];
}

function refuse({ name, fields }: ClientEndpoint, { refused }: FieldTable): RefusedEndpoint | undefined {
  const found = Object.entries(refused).find(([start]) => isUnder(name, start));
  return found && { name, reason: found[1], fieldCount: fields.size };
}

/** A star stands for any method. */
function isUnder(name: string, start: string): boolean {
  return start.startsWith("* ") ? name.includes(start.slice(1)) : name.startsWith(start);
}
