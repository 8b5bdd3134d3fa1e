import type { JsonObject, JsonValue } from "@hearth-and-keep/engine";
import type { RandomChoices } from "./random-choices.ts";

/** A schema and a generator of valid documents. */
export type Sample = {
  readonly schema: JsonObject;
  readonly write: (random: RandomChoices) => JsonValue;
};

export type SampleContext = {
  readonly random: RandomChoices;
  readonly use: (feature: string) => void;
};

/** Patterns with matching strings; `maxLength` keeps unbounded ones short. */
const patterns: readonly {
  readonly pattern: string;
  readonly matches: readonly string[];
  readonly maxLength?: number;
}[] = [
  { pattern: "^[a-z]{2,6}$", matches: ["ab", "hearth"] },
  { pattern: String.raw`^\d{3}-\d{4}$`, matches: ["555-1234"] },
  { pattern: "^(red|green|blue)[0-9]?$", matches: ["red", "green7"] },
  { pattern: "^[A-Z][a-z]+(?: [A-Z][a-z]+)?$", matches: ["Ada", "Ada Byron"], maxLength: 16 },
  { pattern: "id-[0-9a-f]{4}", matches: ["id-00ff", "the id-1a2b"], maxLength: 12 },
  { pattern: String.raw`^\w+@\w+\.(com|org)$`, matches: ["me@example.org"], maxLength: 18 },
  { pattern: String.raw`^[^aeiou\s"]{1,8}$`, matches: ["xyz", "\\\u{1f525}"] },
  { pattern: String.raw`^(?:\+|00)[1-9]\d{6,10}$`, matches: ["+41441234567"] },
  { pattern: "^a.c$|^xyz", matches: ["abc", 'a"c', "xyz..."], maxLength: 9 },
];
const formats: Readonly<Record<string, readonly string[]>> = {
  date: ["2024-02-29", "1999-12-31"],
  time: ["23:59:59Z", "08:30:00.5+02:00"],
  "date-time": ["2026-11-15T04:00:00Z"],
  uuid: ["123e4567-e89b-12d3-a456-426614174000"],
  email: ["first.last@example.com"],
  ipv4: ["127.0.0.1", "255.255.255.255"],
  ipv6: ["::1", "fe80:1:2:3:4:5:6:7"],
};

/** A schema without subschemas. */
export function makeLeaf(context: SampleContext): Sample {
  const make = context.random.oneOf([
    makeEnum,
    makeConst,
    makePattern,
    makeFormat,
    makeText,
    makeInteger,
    makeNumber,
    makePlain,
  ]);
  return make(context);
}

function makeEnum({ random, use }: SampleContext): Sample {
  use("enum");
  const all: JsonValue[] = ["low", "high", 3, null, true, 'a "b"', ["x", 1], { deep: [] }, "ümläut\n"];
  const values = all.filter(() => random.isLikely(0.5));
  const given = values.length === 0 ? ["only"] : values;
  return { schema: { enum: given }, write: (choices) => choices.oneOf(given) };
}

function makeConst({ random, use }: SampleContext): Sample {
  use("const");
  const value = random.oneOf<JsonValue>(["fixed", 42, -0.5, false, null, { a: 1, b: [true] }]);
  return { schema: { const: value }, write: () => value };
}

function makePattern({ random, use }: SampleContext): Sample {
  use("pattern");
  const { pattern, matches, maxLength } = random.oneOf(patterns);
  const length = maxLength === undefined ? {} : { maxLength };
  return { schema: { type: "string", pattern, ...length }, write: (choices) => choices.oneOf(matches) };
}

function makeFormat({ random, use }: SampleContext): Sample {
  use("format");
  const format = random.oneOf(Object.keys(formats));
  return { schema: { type: "string", format }, write: (choices) => choices.oneOf(formats[format] ?? []) };
}

function makeText({ random, use }: SampleContext): Sample {
  use("length bounds");
  const minLength = random.between(0, 4);
  const maxLength = minLength + random.between(0, 8);
  return {
    schema: { type: "string", minLength, maxLength },
    write: (choices) => {
      const length = choices.between(minLength, maxLength);
      return Array.from({ length }, () => choices.oneOf(Array.from('aZ"\\/\n\té\u{1f600}\u2028'))).join("");
    },
  };
}

function makeInteger({ random, use }: SampleContext): Sample {
  use("integer bounds");
  const minimum = random.between(-1200, 1000);
  const maximum = minimum + random.oneOf([0, 7, 99, 5000]);
  const schema = random.isLikely(0.5)
    ? { type: "integer", minimum, maximum }
    : { type: "integer", exclusiveMinimum: minimum - 0.5, exclusiveMaximum: maximum + 1 };
  return { schema, write: (choices) => choices.between(minimum, maximum) };
}

function makeNumber({ random, use }: SampleContext): Sample {
  use("number bounds");
  const minimum = random.between(-500, 500) / 8;
  const maximum = minimum + random.oneOf([0.25, 3, 120.5]);
  const schema = random.isLikely(0.5)
    ? { type: "number", minimum, maximum }
    : { type: "number", exclusiveMinimum: minimum, exclusiveMaximum: maximum };
  return { schema, write: (choices) => minimum + (maximum - minimum) * (choices.between(1, 127) / 128) };
}

function makePlain({ random, use }: SampleContext): Sample {
  use("type lists");
  const type = random.oneOf([["boolean", "null"], ["integer", "null"], ["boolean"]]);
  return {
    schema: { type },
    write: (choices) => (type[0] === "integer" ? choices.between(-9, 99) : choices.isLikely(0.5)),
  };
}
