import { expect, test } from "vitest";
import { Budget, defaultTemplateLimits as limits } from "../budget.ts";
import { TemplateError } from "../template-error.ts";
import language from "./fixtures/language-cases.json" with { type: "json" };
import { runGoTemplate } from "./run-template.ts";
import { parseGoTemplate } from "./syntax.ts";
import { fromJson } from "./values.ts";

// The output of Go's own package for each template, or null if it failed; see render-with-go.go.
const { given, cases } = language;

test(`${cases.length} templates render as with Go's own package, and fail where it fails`, () => {
  const different = cases.filter(({ template, text }) => render(template) !== text);
  expect(different.map(({ template, text }) => ({ template, go: text, ours: render(template) }))).toEqual([]);
  expect(cases.length).toBeGreaterThanOrEqual(190);
  expect(cases.filter(({ text }) => text === null).length).toBeGreaterThanOrEqual(60);
});

function render(template: string): string | null {
  const budget = new Budget(limits);
  try {
    return runGoTemplate(parseGoTemplate(template, budget), fromJson(given), {
      budget,
      limits,
      now: new Date(),
    });
  } catch (error) {
    if (error instanceof TemplateError) return null;
    throw error;
  }
}
