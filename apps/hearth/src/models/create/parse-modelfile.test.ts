import { startProcessorClock } from "@hearth-and-keep/figures";
import { describe, expect, test } from "vitest";
import { parseModelfile } from "./parse-modelfile.ts";

describe("a Modelfile", () => {
  test("is parsed with keywords in any case, comments and every kind of value", () => {
    const text = [
      "# a comment",
      "",
      "FROM ./weights.gguf",
      "from ./projector.gguf",
      "  ADAPTER ./tuned.gguf",
      "PARAMETER temperature 0.5",
      "parameter Num_Ctx 4096",
      "PARAMETER use_mmap false",
      "PARAMETER stop <|im_end|>",
      'PARAMETER stop "two words "',
      'TEMPLATE """{{ .System }}',
      '  say "hi"',
      '"""',
      "SYSTEM one",
      'SYSTEM "two',
      'lines"',
      "LICENSE MIT",
      'LICENSE """Apache"""',
      "MESSAGE user # not a comment",
      'message assistant ""',
    ].join("\r\n");
    expect(parseModelfile(text)).toEqual({
      from: ["./weights.gguf", "./projector.gguf"],
      adapters: ["./tuned.gguf"],
      extras: {
        template: '{{ .System }}\r\n  say "hi"\r\n',
        system: "two\r\nlines",
        licenses: ["MIT", "Apache"],
        parameters: { temperature: 0.5, num_ctx: 4096, use_mmap: false, stop: ["<|im_end|>", "two words "] },
        messages: [
          { role: "user", content: "# not a comment" },
          { role: "assistant", content: "" },
        ],
      },
    });
  });

  test.each([
    ["", 1, "no FROM instruction"],
    ["FROM a\n\nNONSENSE b", 3, "unknown instruction; expected one of"],
    ["FROM a\n= b", 2, "unknown instruction; expected one of"],
    ['FROM a\n# c\nSYSTEM """b\nc', 3, "is not closed"],
    ['FROM a\nSYSTEM "b', 2, "is not closed"],
    ["FROM a\nSYSTEM b\nMESSAGE tool c", 3, "the role of a MESSAGE"],
    ["FROM a\nPARAMETER", 2, "PARAMETER needs a name and a value"],
    ["FROM a\nPARAMETER stop", 2, "PARAMETER stop needs a value"],
    ["FROM a\nPARAMETER foo 3", 2, "PARAMETER foo is not valid: unknown parameter; the parameters are temp"],
    ["FROM a\nPARAMETER temprature 1", 2, "unknown parameter; did you mean temperature?"],
    ["FROM a\nPARAMETER temperature hot", 2, "it must be a number from 0 to 100"],
    ["FROM", 1, "FROM needs a value"],
    ['FROM a\nSYSTEM """x\ny"""\nADAPTER', 4, "ADAPTER needs a value"],
  ])("%j is rejected with its line number", (text, line, reason) => {
    expect(() => parseModelfile(text)).toThrow(
      expect.objectContaining({
        failure: { kind: "modelfile-invalid", line, reason: expect.stringContaining(reason) },
      }),
    );
  });

  test("may set deprecated parameters", () => {
    const { extras } = parseModelfile("FROM a\nPARAMETER mirostat 1\nPARAMETER top_k 5");
    expect(extras.parameters).toEqual({ mirostat: 1, top_k: 5 });
  });

  test("with a quoted value of sixteen megabytes is parsed within seconds", () => {
    const long = "a line\n".repeat(2_300_000);
    const elapsed = startProcessorClock();
    expect(parseModelfile(`FROM a\nSYSTEM """${long}"""`).extras.system).toBe(long);
    expect(elapsed()).toBeLessThan(5000);
  });
});
