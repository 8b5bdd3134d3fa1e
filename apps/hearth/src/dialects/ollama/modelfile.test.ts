import { expect, test } from "vitest";
import { parseModelfile } from "../../models/create/parse-modelfile.ts";
import type { ModelDescription } from "../../models/metadata/describe-model.ts";
import { parseValidParameters } from "../../models/metadata/model-parameters.ts";
import { writeModelfile } from "./modelfile.ts";

/** Fragments that are special in a Modelfile. */
const fragments = [
  "a",
  "é",
  " ",
  "\t",
  "\n",
  "\r",
  "\r\n",
  '"',
  '""',
  '"""',
  "#",
  "FROM x",
  "\\",
  "{{ .System }}",
  "\u00a0",
];

function makeRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function makeText(random: (below: number) => number): string {
  const text = Array.from({ length: random(8) }, () => fragments[random(fragments.length)] ?? "").join("");
  // A Modelfile cannot express a text that ends with a quotation mark.
  return text.replaceAll(/"""(?=[^\S\r\n]*[\r\n])/gu, "'''");
}

test("a Modelfile from show parses back to the same model, whatever its texts contain", () => {
  const random = makeRandom(6);
  for (let round = 0; round < 3000; round += 1) {
    const texts = Array.from({ length: 6 }, () => makeText(random));
    const [template = "", system = "", license = "", content = "", stop = "", other = ""] = texts;
    const parameters = parseValidParameters({
      temperature: random(100) / 100,
      num_ctx: random(100_000),
      use_mmap: random(2) === 0,
      ...(stop.trim() === "" || other.trim() === "" ? {} : { stop: [stop, other] }),
    });
    // Only these are written.
    const model = {
      name: "team/model:tag",
      template,
      system,
      licenses: [license, "MIT"],
      messages: [{ role: "user", content }],
      parameters,
    } as unknown as ModelDescription;
    const { from, adapters, extras } = parseModelfile(writeModelfile(model));
    expect({ from, adapters }).toEqual({ from: ["team/model:tag"], adapters: [] });
    expect(extras).toEqual({
      template,
      system,
      licenses: [license, "MIT"],
      messages: [{ role: "user", content }],
      parameters: Object.fromEntries(parameters.entries),
    });
  }
});
