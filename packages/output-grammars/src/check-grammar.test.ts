import { expect, test } from "vitest";
import { checkGrammar } from "./check-grammar.ts";
import { acceptsText } from "./test/accept-text.ts";

const long = `"${"x".repeat(1500)}"`;
const rejected: readonly (readonly [what: string, grammar: string, reason: RegExp, counterpart: string])[] = [
  ["without a root", 'start ::= "a"', /"root" is not defined/, 'root ::= "a"'],
  ["with an undefined rule", "root ::= word", /"word" is not defined/, 'root ::= word\nword ::= "a"'],
  [
    "with a rule defined twice",
    'root ::= "a"\nroot ::= "b"',
    /"root" is defined twice/,
    'root ::= "a" | "b"',
  ],
  ["that starts with itself", 'root ::= root "a" | "b"', /"root" starts with "root"/, 'root ::= "b" "a"*'],
  [
    "that starts with itself through other rules",
    'root ::= one\none ::= "x"? two\ntwo ::= one "y" | "z"',
    /"one" starts with "two" starts with "one"/,
    'root ::= one\none ::= "x" two\ntwo ::= one "y" | "z"',
  ],
  ["that repeats an expression that can be empty", 'root ::= ("a"*)*', /can be empty/, 'root ::= ("a"+)*'],
  // llama.cpp counts from 3 up to 2 until it runs out of memory.
  ["with repetition bounds out of order", 'root ::= "a"{3,2}', /out of order/, 'root ::= "a"{2,3}'],
  ["with too many repetitions", 'root ::= "a"{2001}', /more than/, 'root ::= "a"{1999}'],
  ["that repeats a repetition", 'root ::= "a"{3}{2}', /without parentheses/, 'root ::= ("a"{3}){2}'],
  ["that expands to too much", `root ::= ${long}{1500}`, /expand to/, `root ::= (${long}){1500}`],
  ["of too many characters", `root ::= "a"${" ".repeat(1_000_000)}`, /characters/, 'root ::= "a"   '],
  [
    "of too many rules",
    `root ::= "a"\n${Array.from({ length: 10_000 }, (_, index) => `r${index} ::= "b"`).join("\n")}`,
    /10000 rules/,
    'root ::= "a"\nr1 ::= "b"',
  ],
  [
    "that is nested too deeply",
    `root ::= ${"(".repeat(200)}"a"${")".repeat(200)}`,
    /nested/,
    'root ::= (("a"))',
  ],
  ["with an unclosed literal", 'root ::= "a', /unclosed/, 'root ::= "a"'],
  ["with an unclosed class", "root ::= [a", /unclosed/, "root ::= [a]"],
  ["with an empty class", "root ::= []", /is empty/, "root ::= [^a]"],
  ["with a range out of order", "root ::= [z-a]", /out of order/, "root ::= [a-z]"],
  ["with an unknown escape", String.raw`root ::= "\q"`, /not a character/, String.raw`root ::= "\n\x41"`],
  ["with an unclosed group", 'root ::= ("a"', /expected "\)"/, 'root ::= ("a"\n | "b")'],
  ["with an unexpected character", 'root ::= "a" = "b"', /unexpected "="/, 'root ::= "a" # = "b"'],
  ["without ::=", 'root "a"', /expected "::="/, 'root ::=\n "a"'],
];

test.for(rejected)(
  "a grammar %s is rejected, and its counterpart is not",
  ([, grammar, reason, counterpart]) => {
    expect(() => checkGrammar(grammar)).toThrow(
      expect.objectContaining({
        failure: { kind: "grammar-invalid", reason: expect.stringMatching(reason) },
      }),
    );
    expect(checkGrammar(counterpart).has("root")).toBe(true);
  },
);

test("a grammar in llama.cpp's notation is parsed correctly", () => {
  const grammar = checkGrammar(
    String.raw`
    # a sum of numbers
    root ::= number (ws "+" ws number)* [^\x01-z]?
    number ::= [0-9]{1,3} |
      "zero"
    ws ::= [ \t]?`.replace(/^ +(?=root|number|ws|#)/gmu, ""),
  );
  const candidates = ["1", "12 + zero", "1234", "1+", "1+2+3", "7~", "7z"];
  expect(candidates.filter((candidate) => acceptsText(grammar, candidate))).toEqual([
    "1",
    "12 + zero",
    "1+2+3",
    "7~",
  ]);
});
