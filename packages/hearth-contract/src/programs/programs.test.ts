import { expect, test } from "vitest";
import { anyKey, keyPlaceholder, type ProgramContext } from "./program.ts";
import { programs } from "./program-table.ts";
import { renderSettings } from "./render-settings.ts";

const context: ProgramContext = {
  baseUrl: "https://models.example/hearth",
  model: "team/qwen3:8b",
  smallModel: "qwen3:0.6b",
  contextTokens: 65_536,
  hasVision: true,
  key: keyPlaceholder,
};

test.each(programs)(
  "the settings of $title contain the server and the model, and no file has the key",
  (program) => {
    const settings = program.configure(context);
    const files = JSON.stringify(settings.files);
    const everything = JSON.stringify(settings);
    expect(everything).toContain("models.example");
    expect(everything).toContain("team/qwen3:8b");
    expect(files).not.toContain(keyPlaceholder);
    expect(JSON.stringify(settings.environment)).toContain(keyPlaceholder);
    const rendered = renderSettings(program, settings, { key: "it's" })
      .map(({ text }) => text)
      .join("\n");
    expect(rendered).toContain(String.raw`'it'\''s'`);
    expect(rendered).not.toContain(keyPlaceholder);
  },
);

test.each(programs)("the settings of $title need neither a key nor a known context", (program) => {
  const { contextTokens: _, ...rest } = context;
  const settings = program.configure({ ...rest, contextTokens: undefined, key: anyKey });
  expect(JSON.stringify(settings)).not.toMatch(/undefined|NaN|HEARTH_API_KEY\}/u);
});

test("the catalog of Codex has the model's context, and images only for a model with vision", () => {
  const codex = programs.find(({ name }) => name === "codex");
  const entryOf = (changes: Partial<ProgramContext>): unknown => {
    const [catalog] = codex?.configure({ ...context, ...changes }).files ?? [];
    return JSON.parse(catalog?.kind === "text" ? catalog.text : "{}").models[0];
  };
  expect(entryOf({})).toMatchObject({
    slug: "team/qwen3:8b",
    context_window: 65_536,
    input_modalities: ["text", "image"],
  });
  expect(entryOf({ hasVision: false, contextTokens: undefined })).toMatchObject({
    context_window: 32_768,
    input_modalities: ["text"],
  });
});

test("a variable of the user's shell stands for the key in the middle of a quoted text", () => {
  const opencode = programs.find(({ name }) => name === "opencode");
  const blocks = opencode && renderSettings(opencode, opencode.configure(context));
  expect(blocks?.[0]?.text).toMatch(
    /^export OPENCODE_CONFIG_CONTENT='.*"apiKey":"'"\$HEARTH_API_KEY"'".*'\nopencode$/u,
  );
});
