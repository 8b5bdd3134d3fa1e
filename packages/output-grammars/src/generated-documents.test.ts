import type { JsonValue } from "@hearth-and-keep/engine";
import { scale } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { checkGrammar } from "./check-grammar.ts";
import { grammarForSchema } from "./schema-grammar.ts";
import { acceptsText } from "./test/accept-text.ts";
import { createValidator } from "./test/create-validator.ts";
import { generateSchema } from "./test/generated-schema.ts";
import { RandomChoices } from "./test/random-choices.ts";

const schemas = scale === "nightly" ? 2000 : 150;
const documentsEach = 8;

test("documents generated for a schema are accepted by its grammar, and invalid ones are not", {
  timeout: 600_000,
}, () => {
  const counts = { accepted: 0, rejected: 0 };
  for (let seed = 1; seed <= schemas; seed += 1) {
    const { schema, write } = generateSchema(seed);
    const grammar = checkGrammar(grammarForSchema(schema, "strict"));
    const isValid = createValidator(schema);
    const random = new RandomChoices(seed * 31);
    for (let count = 0; count < documentsEach; count += 1) {
      const document = write(random);
      const json = JSON.stringify(document);
      expect(isValid(document), `seed ${seed}: ${json}`).toBe(true);
      expect(acceptsText(grammar, json), `seed ${seed}: ${json}`).toBe(true);
      counts.accepted += 1;
      const mutated = mutate(document, random);
      if (isValid(mutated)) continue;
      expect(acceptsText(grammar, JSON.stringify(mutated)), `seed ${seed}: ${JSON.stringify(mutated)}`).toBe(
        false,
      );
      counts.rejected += 1;
    }
  }
  process.stdout.write(`${counts.accepted} documents accepted, ${counts.rejected} invalid ones rejected\n`);
  expect(counts.accepted).toBe(schemas * documentsEach);
  expect(counts.rejected).toBeGreaterThan(schemas * 3);
});

/** Replaces, removes or adds a value at a random position. */
function mutate(value: JsonValue, random: RandomChoices): JsonValue {
  const replacement = random.oneOf<JsonValue>([null, "", "zzz", -1e6, 0.125, {}, [], [[]], true, { x: 1 }]);
  if (typeof value !== "object" || value === null || random.isLikely(0.15)) return replacement;
  const entries = Object.entries(value);
  const target = random.between(0, entries.length);
  const removes = random.isLikely(0.3);
  const changed = entries.flatMap(([key, inner], index): [string, JsonValue][] => {
    if (index !== target) return [[key, inner]];
    return removes ? [] : [[key, mutate(inner, random)]];
  });
  const added: [string, JsonValue][] = target === entries.length ? [["extra", replacement]] : [];
  const all = [...changed, ...added];
  return Array.isArray(value) ? all.map(([, inner]) => inner) : Object.fromEntries(all);
}
