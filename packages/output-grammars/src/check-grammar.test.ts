import { expect, test } from "vitest";
import { checkGrammar } from "./check-grammar.ts";
import { acceptsText } from "./test/accept-text.ts";

const long = `"${"x".repeat(1500)}"`;
const refused: readonly (readonly [what: string, grammar: string, reason: RegExp, twin: string])[] = [
  ["without a root", 'start ::= "a"', /"root" is not defined/, 'root ::= "a"'],
  ["with an undefined rule", "root ::= word", /"word" is not defined/, 'root ::= word\nword ::= "a"'],
  ["with a rule defined twice", 'root ::= "a"\nroot ::= "b"', /"root" twice/, 'root ::= "a" | "b"'],
  ["that begins with itself", 'root ::= root "a" | "b"', /"root" begins with "root"/, 'root ::= "b" "a"*'],
  [
    "that begins with itself by way of others",
    'root ::= one\none ::= "x"? two\ntwo ::= one "y" | "z"',
    /"one" begins with "two" begins with "one"/,
    'root ::= one\none ::= "x" two\ntwo ::= one "y" | "z"',
  ],
  ["that repeats what may be empty", 'root ::= ("a"*)*', /may be empty/, 'root ::= ("a"+)*'],
  // llama.cpp counts from 3 up to 2 until the memory of the machine is full.
  ["that counts downwards", 'root ::= "a"{3,2}', /counts downwards/, 'root ::= "a"{2,3}'],
  ["that counts too far", 'root ::= "a"{2001}', /more than/, 'root ::= "a"{1999}'],
  ["that repeats a repetition", 'root ::= "a"{3}{2}', /without parentheses/, 'root ::= ("a"{3}){2}'],
  ["that writes out too much", `root ::= ${long}{1500}`, /write out/, `root ::= (${long}){1500}`],
  ["of too many characters", `root ::= "a"${" ".repeat(1_000_000)}`, /characters/, 'root ::= "a"   '],
  [
    "of too many rules",
    `root ::= "a"\n${Array.from({ length: 10_000 }, (_, index) => `r${index} ::= "b"`).join("\n")}`,
    /10000 rules/,
    'root ::= "a"\nr1 ::= "b"',
  ],
  ["nested too deep", `root ::= ${"(".repeat(200)}"a"${")".repeat(200)}`, /nests/, 'root ::= (("a"))'],
  ["with an open literal", 'root ::= "a', /not closed/, 'root ::= "a"'],
  ["with an open class", "root ::= [a", /not closed/, "root ::= [a]"],
  ["with an empty class", "root ::= []", /no characters/, "root ::= [^a]"],
  ["with a class that runs backwards", "root ::= [z-a]", /backwards/, "root ::= [a-z]"],
  ["with an unknown escape", String.raw`root ::= "\q"`, /no character/, String.raw`root ::= "\n\x41"`],
  ["with an open group", 'root ::= ("a"', /expects "\)"/, 'root ::= ("a"\n | "b")'],
  ["with a sign out of place", 'root ::= "a" = "b"', /cannot go on with "="/, 'root ::= "a" # = "b"'],
  ["without a sign of definition", 'root "a"', /expects "::="/, 'root ::=\n "a"'],
];

test.for(refused)("a grammar %s is refused, and its twin is not", ([, grammar, reason, twin]) => {
  expect(() => checkGrammar(grammar)).toThrow(
    expect.objectContaining({ failure: { kind: "grammar-invalid", reason: expect.stringMatching(reason) } }),
  );
  expect(checkGrammar(twin).has("root")).toBe(true);
});

test("a grammar in llama.cpp's notation is read as it is meant", () => {
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
