import type { JsonValue } from "@hearth-and-keep/engine";
import { scale } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { checkGrammar } from "./check-grammar.ts";
import { grammarForSchema } from "./schema-grammar.ts";
import { acceptsText } from "./test/accept-text.ts";
import { generateSchema } from "./test/generated-schema.ts";
import { makeValidator } from "./test/create-validator.ts";
import { RandomChoices } from "./test/random-choices.ts";

const schemas = scale === "nightly" ? 2000 : 150;
const documentsEach = 8;

test("documents written for a schema are accepted by its grammar, and broken ones are not", {
  timeout: 600_000,
}, () => {
  const counts = { accepted: 0, refused: 0 };
  for (let seed = 1; seed <= schemas; seed += 1) {
    const { schema, write } = generateSchema(seed);
    const grammar = checkGrammar(grammarForSchema(schema));
    const isValid = makeValidator(schema);
    const random = new RandomChoices(seed * 31);
    for (let count = 0; count < documentsEach; count += 1) {
      const document = write(random);
      const written = JSON.stringify(document);
      expect(isValid(document), `seed ${seed}: ${written}`).toBe(true);
      expect(acceptsText(grammar, written), `seed ${seed}: ${written}`).toBe(true);
      counts.accepted += 1;
      const broken = breakSomewhere(document, random);
      if (isValid(broken)) continue;
      expect(acceptsText(grammar, JSON.stringify(broken)), `seed ${seed}: ${JSON.stringify(broken)}`).toBe(
        false,
      );
      counts.refused += 1;
    }
  }
  process.stdout.write(`${counts.accepted} documents accepted, ${counts.refused} broken ones refused\n`);
  expect(counts.accepted).toBe(schemas * documentsEach);
  expect(counts.refused).toBeGreaterThan(schemas * 3);
});

/** Replaces, drops or adds something, at a place that chance finds. */
function breakSomewhere(value: JsonValue, random: RandomChoices): JsonValue {
  const replacement = random.oneOf<JsonValue>([null, "", "zzz", -1e6, 0.125, {}, [], [[]], true, { x: 1 }]);
  if (typeof value !== "object" || value === null || random.isLikely(0.15)) return replacement;
  const entries = Object.entries(value);
  const at = random.between(0, entries.length);
  const isDropping = random.isLikely(0.3);
  const changed = entries.flatMap(([key, inner], index): [string, JsonValue][] => {
    if (index !== at) return [[key, inner]];
    return isDropping ? [] : [[key, breakSomewhere(inner, random)]];
  });
  const further: [string, JsonValue][] = at === entries.length ? [["extra", replacement]] : [];
  const all = [...changed, ...further];
  return Array.isArray(value) ? all.map(([, inner]) => inner) : Object.fromEntries(all);
}
