import type { JsonObject } from "@hearth-and-keep/engine";
import { makeLeaf, type Sample, type SampleContext } from "./leaf-schemas.ts";
import { RandomChoices } from "./random-choices.ts";

export type GeneratedSchema = Sample & { readonly features: ReadonlySet<string> };

/** Generates a reproducible schema from a seed: a nested object with referenced definitions. */
export function generateSchema(seed: number): GeneratedSchema {
  const random = new RandomChoices(seed);
  const features = new Set<string>();
  const context: SampleContext = { random, use: (feature) => features.add(feature) };
  const entry = makeObject(context, 1);
  const node = makeNode(context);
  const definitions = random.oneOf(["$defs", "definitions"]);
  const body = makeObject(context, 2, [
    ["entry", refer(entry, `#/${definitions}/entry`, () => context.use("nested $ref"))],
    [
      "tree",
      refer(node(`#/${definitions}/node`), `#/${definitions}/node`, () => context.use("recursive $ref")),
    ],
  ]);
  const schema: JsonObject = {
    title: `Generated ${seed}`,
    ...body.schema,
    [definitions]: { entry: entry.schema, node: node(`#/${definitions}/node`).schema },
  };
  return { schema, write: body.write, features };
}

function refer(target: Sample, address: string, use: () => void): () => Sample {
  return () => {
    use();
    return { schema: { $ref: address }, write: target.write };
  };
}

/** A recursive list or tree; deeper levels become less likely, so that documents are finite. */
function makeNode(context: SampleContext): (address: string) => Sample {
  const leaf = makeLeaf(context);
  const isTree = context.random.isLikely(0.5);
  return (address) => {
    const self = { $ref: address };
    const below = isTree ? { type: "array", items: self, maxItems: 2 } : { anyOf: [self, { type: "null" }] };
    const schema: JsonObject = {
      type: "object",
      properties: { value: leaf.schema, below },
      required: ["value"],
      additionalProperties: false,
    };
    const write = (random: RandomChoices): JsonObject => {
      const value = leaf.write(random);
      if (random.isLikely(0.4)) return { value };
      if (isTree) return { value, below: random.isLikely(0.5) ? [] : [write(random)] };
      return { value, below: random.isLikely(0.5) ? null : write(random) };
    };
    return { schema, write };
  };
}

type NamedSample = readonly [name: string, make: () => Sample];

function makeObject(context: SampleContext, depth: number, extra: readonly NamedSample[] = []): Sample {
  const { random } = context;
  const own = Array.from({ length: random.between(1, 3) }, (_, index): NamedSample => {
    return [random.oneOf(["name", "größe", "a/b", 'quo"te', "n"]) + index, () => makeValue(context, depth)];
  });
  const chosen = extra.filter(() => random.isLikely(0.6));
  const fields = [...own, ...chosen].map(([name, make]) => ({
    name,
    sample: make(),
    isRequired: random.isLikely(0.6),
  }));
  if (fields.some(({ isRequired }) => !isRequired)) context.use("optional fields");
  const isOpen = random.isLikely(0.2);
  if (isOpen) context.use("additionalProperties");
  const schema = {
    type: "object",
    properties: Object.fromEntries(fields.map(({ name, sample }) => [name, sample.schema])),
    required: fields.filter(({ isRequired }) => isRequired).map(({ name }) => name),
    additionalProperties: isOpen ? { type: "integer", minimum: 0, maximum: 9 } : false,
  };
  const write = (choices: RandomChoices): JsonObject => {
    const written = fields.filter(({ isRequired }) => isRequired || choices.isLikely(0.5));
    const further = isOpen && choices.isLikely(0.5) ? [["name", choices.between(0, 9)] as const] : []; // a pair, not a list
    return Object.fromEntries([
      ...written.map(({ name, sample }) => [name, sample.write(choices)]),
      ...further,
    ]);
  };
  return { schema, write };
}

function makeValue(context: SampleContext, depth: number): Sample {
  const { random } = context;
  const kind =
    depth <= 0
      ? "leaf"
      : random.oneOf(["leaf", "leaf", "object", "array", "tuple", "anyOf", "oneOf", "allOf"]);
  switch (kind) {
    case "object":
      return makeObject(context, depth - 1);
    case "array":
      return makeArray(context, depth - 1);
    case "tuple":
      return makeTuple(context, depth - 1);
    case "anyOf":
      return makeAlternatives(context, depth - 1);
    case "oneOf":
      return makeTagged(context, depth - 1);
    case "allOf":
      return makeMerged(context, depth - 1);
    default:
      return makeLeaf(context);
  }
}

function makeArray(context: SampleContext, depth: number): Sample {
  context.use("array bounds");
  const item = makeValue(context, depth);
  const minItems = context.random.between(0, 2);
  const maxItems = minItems + context.random.between(0, 2);
  return {
    schema: { type: "array", items: item.schema, minItems, maxItems },
    write: (random) => Array.from({ length: random.between(minItems, maxItems) }, () => item.write(random)),
  };
}

function makeTuple(context: SampleContext, depth: number): Sample {
  context.use("prefixItems");
  const items = [makeValue(context, depth), makeLeaf(context)];
  return {
    schema: { type: "array", prefixItems: items.map(({ schema }) => schema), minItems: 1, items: false },
    write: (random) => items.slice(0, random.between(1, 2)).map((item) => item.write(random)),
  };
}

function makeAlternatives(context: SampleContext, depth: number): Sample {
  context.use("anyOf");
  const options = [makeValue(context, depth), makeLeaf(context)];
  return {
    schema: { anyOf: options.map(({ schema }) => schema) },
    write: (random) => random.oneOf(options).write(random),
  };
}

/** Options distinguished by a field, as is usual for tagged unions. */
function makeTagged(context: SampleContext, depth: number): Sample {
  context.use("oneOf");
  const options = ["circle", "square"].map((kind) => ({ kind, side: makeValue(context, depth) }));
  const required = ["kind", "side"];
  return {
    schema: {
      oneOf: options.map(({ kind, side }) => ({
        type: "object",
        properties: { kind: { const: kind }, side: side.schema },
        required,
      })),
    },
    write: (random) => {
      const { kind, side } = random.oneOf(options);
      return { kind, side: side.write(random) };
    },
  };
}

function makeMerged(context: SampleContext, depth: number): Sample {
  context.use("allOf");
  const left = makeValue(context, depth);
  const right = makeLeaf(context);
  return {
    schema: {
      allOf: [
        { type: "object", properties: { left: left.schema }, required: ["left"] },
        { type: "object", properties: { right: right.schema } },
      ],
    },
    write: (random) => ({
      left: left.write(random),
      ...(random.isLikely(0.5) ? { right: right.write(random) } : {}),
    }),
  };
}
