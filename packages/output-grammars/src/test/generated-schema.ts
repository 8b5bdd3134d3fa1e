import type { JsonObject } from "@hearth-and-keep/engine";
import { makeLeaf, type Sample, type SampleMaker } from "./leaf-schemas.ts";
import { RandomChoices } from "./random-choices.ts";

export type GeneratedSchema = Sample & { readonly features: ReadonlySet<string> };

/** The schema of a seed: always the same, an object of nested parts with definitions that are referred to. */
export function generateSchema(seed: number): GeneratedSchema {
  const random = new RandomChoices(seed);
  const features = new Set<string>();
  const maker: SampleMaker = { random, use: (feature) => features.add(feature) };
  const entry = makeObject(maker, 1);
  const node = makeNode(maker);
  const definitions = random.oneOf(["$defs", "definitions"]);
  const body = makeObject(maker, 2, [
    ["entry", refer(entry, `#/${definitions}/entry`, () => maker.use("nested $ref"))],
    [
      "tree",
      refer(node(`#/${definitions}/node`), `#/${definitions}/node`, () => maker.use("recursive $ref")),
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

/** A list or a tree of itself; deeper levels become ever less likely, so that documents end. */
function makeNode(maker: SampleMaker): (address: string) => Sample {
  const leaf = makeLeaf(maker);
  const isTree = maker.random.isLikely(0.5);
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

type NamedMaker = readonly [name: string, make: () => Sample];

function makeObject(maker: SampleMaker, depth: number, extra: readonly NamedMaker[] = []): Sample {
  const { random } = maker;
  const own = Array.from({ length: random.between(1, 3) }, (_, index): NamedMaker => {
    return [random.oneOf(["name", "größe", "a/b", 'quo"te', "n"]) + index, () => makeValue(maker, depth)];
  });
  const chosen = extra.filter(() => random.isLikely(0.6));
  const fields = [...own, ...chosen].map(([name, make]) => ({
    name,
    sample: make(),
    isRequired: random.isLikely(0.6),
  }));
  if (fields.some(({ isRequired }) => !isRequired)) maker.use("optional fields");
  const isOpen = random.isLikely(0.2);
  if (isOpen) maker.use("additionalProperties");
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

function makeValue(maker: SampleMaker, depth: number): Sample {
  const { random } = maker;
  const kind =
    depth <= 0
      ? "leaf"
      : random.oneOf(["leaf", "leaf", "object", "array", "tuple", "anyOf", "oneOf", "allOf"]);
  switch (kind) {
    case "object":
      return makeObject(maker, depth - 1);
    case "array":
      return makeArray(maker, depth - 1);
    case "tuple":
      return makeTuple(maker, depth - 1);
    case "anyOf":
      return makeAlternatives(maker, depth - 1);
    case "oneOf":
      return makeTagged(maker, depth - 1);
    case "allOf":
      return makeMerged(maker, depth - 1);
    default:
      return makeLeaf(maker);
  }
}

function makeArray(maker: SampleMaker, depth: number): Sample {
  maker.use("array bounds");
  const item = makeValue(maker, depth);
  const minItems = maker.random.between(0, 2);
  const maxItems = minItems + maker.random.between(0, 2);
  return {
    schema: { type: "array", items: item.schema, minItems, maxItems },
    write: (random) => Array.from({ length: random.between(minItems, maxItems) }, () => item.write(random)),
  };
}

function makeTuple(maker: SampleMaker, depth: number): Sample {
  maker.use("prefixItems");
  const items = [makeValue(maker, depth), makeLeaf(maker)];
  return {
    schema: { type: "array", prefixItems: items.map(({ schema }) => schema), minItems: 1, items: false },
    write: (random) => items.slice(0, random.between(1, 2)).map((item) => item.write(random)),
  };
}

function makeAlternatives(maker: SampleMaker, depth: number): Sample {
  maker.use("anyOf");
  const options = [makeValue(maker, depth), makeLeaf(maker)];
  return {
    schema: { anyOf: options.map(({ schema }) => schema) },
    write: (random) => random.oneOf(options).write(random),
  };
}

/** Options told apart by a field, as unions of types usually are. */
function makeTagged(maker: SampleMaker, depth: number): Sample {
  maker.use("oneOf");
  const options = ["circle", "square"].map((kind) => ({ kind, side: makeValue(maker, depth) }));
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

function makeMerged(maker: SampleMaker, depth: number): Sample {
  maker.use("allOf");
  const left = makeValue(maker, depth);
  const right = makeLeaf(maker);
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
