import { expect, test } from "vitest";
import { JsonSyntaxError, readJsonText, removeJsonProperty, setJsonValue } from "./edit-json.ts";

const settings = `// My settings
{
  "theme": "One Dark", // the best
  /* "agent": {}, */
  "agent": { "enabled": true },
  "tabs": ["a", "}", 1],
}
`;

test("a value is added to settings without touching comments, order and trailing commas", () => {
  const nested = setJsonValue(settings, ["agent", "default_model"], { provider: "Hearth" });
  expect(nested).toContain('// My settings\n{\n  "theme": "One Dark", // the best\n  /* "agent": {}, */');
  expect(readJsonText(nested, ["agent", "default_model", "provider"])).toBe('"Hearth"');
  expect(removeJsonProperty(nested, ["agent", "default_model"])).toBe(settings);
  const added = setJsonValue(settings, ["language_models", "openai_compatible", "Hearth"], 1);
  expect(readJsonText(added, ["language_models", "openai_compatible"])).toBe('{\n      "Hearth": 1\n    }');
  expect(removeJsonProperty(added, ["language_models"])).toBe(settings);
});

test.each([
  "{}",
  "{ }",
  "{\n}",
  '{"a":1}',
  '{"a":{"b":null}}\n',
  '\uFEFF{\r\n\t"a": "\\"}"\r\n}\r\n',
  "{ // only a comment\n}",
])("a value that is set in %j can be removed again", (text) => {
  const changed = setJsonValue(text, ["a", "b", "c"], [1, "x"]);
  expect(readJsonText(changed, ["a", "b", "c"])?.replaceAll(/\s/gu, "")).toBe('[1,"x"]');
  const again = setJsonValue(changed, ["new"], {});
  expect(removeJsonProperty(again, ["new"])).toBe(changed);
});

test("an existing value is replaced, and everything around it stays", () => {
  expect(setJsonValue('{ "a": { "b": 1 }, "c": 2 }', ["a", "b"], 3)).toBe('{ "a": { "b": 3 }, "c": 2 }');
  expect(removeJsonProperty('{ "a": 1, /* why */ "b": 2, "c": 3 }', ["b"])).toBe(
    '{ "a": 1, /* why */ "c": 3 }',
  );
});

test.each([
  "",
  "[]",
  '{"a"',
  '{"a": }',
  '{"a": ,}',
  '{"a": 1 "b": 2}',
  "{} {}",
  '{"a": [}',
  "{'a': 1}",
  '{"a": {"b": tru}}',
  "[".repeat(200_000),
  `{"a": ${'{"a":'.repeat(200_000)}`,
])("%.40j is rejected, so that no broken file is written", (text) => {
  expect(() => setJsonValue(text, ["b"], 1)).toThrow(JsonSyntaxError);
});

test("of equal keys the last one counts and is changed, and comments between values survive", () => {
  const text = '{ "a": 1, "a": 2 /* two */, // mine\n  "b": 3 // three\n}';
  expect(readJsonText(text, ["a"])).toBe("2");
  expect(setJsonValue(text, ["a"], 4)).toBe(text.replace("2 /*", "4 /*"));
  const added = setJsonValue(text, ["c"], 5);
  expect(added).toContain("// three");
  expect(removeJsonProperty(added, ["c"])).toBe(text);
  expect(removeJsonProperty(text, ["b"])).toBe('{ "a": 1, "a": 2 /* two */ // mine // three\n}');
});
