import { expect, test } from "vitest";
import { builtIn } from "./find-engines.ts";
import { pickFastest, type TestedEngine } from "./pick-fastest.ts";

const server = { kind: "llama-server", path: "/usr/bin/llama-server" } as const;
const python = { kind: "xllamacpp", interpreter: "/x/bin/python", version: "1.2" } as const;
const build = { kind: "binding", buildFolder: "/x/binding-3" } as const;

const at = (program: TestedEngine["program"], tokensPerSecond: number): TestedEngine => ({
  program,
  result: { works: true, tokensPerSecond },
});
const broken = (program: TestedEngine["program"]): TestedEngine => ({
  program,
  result: { works: false, reason: "it ended by itself" },
});

test.each([
  ["the fastest", [at(builtIn, 100), at(build, 130), at(python, 150)], python, "1.50 times as fast here"],
  [
    "a build of one's own",
    [at(builtIn, 100), at(build, 150), at(python, 120)],
    build,
    "1.50 times as fast here",
  ],
  ["the built-in one when it is", [at(builtIn, 150), at(python, 120)], builtIn, "the fastest one here"],
  ["llama.cpp's own server when both are", [at(builtIn, 100), at(server, 98)], server, "it can do more"],
  ["whatever works", [broken(builtIn), at(python, 10)], python, "the built-in one failed its self-test"],
  ["the built-in one beside a broken one", [at(builtIn, 1), broken(server)], builtIn, "llama-server failed"],
  ["the built-in one when nothing works", [broken(builtIn), broken(python)], builtIn, "xllamacpp 1.2 failed"],
])("auto takes %s, and says why", (...[, tested, program, words]) => {
  const picked = pickFastest(tested);
  expect(picked.program).toEqual(program);
  expect(picked.reason).toContain(words);
});
