import { expect, test } from "vitest";
import { readSignInForm, renderSignInPage } from "./sign-in-page.ts";

test("parameters of an application are shown as text and posted back unchanged", () => {
  const hostile = `"><script>alert('&amp;')</script>`;
  const html = renderSignInPage({
    title: "Sign in",
    action: "/go?a=1&b=2",
    lines: [hostile],
    hasAccountField: true,
    allowLabel: "Allow",
    denyLabel: "Deny",
    hidden: { state: hostile },
  });
  expect(html).not.toContain("<script>");
  expect(readSignInForm(html)).toEqual({ action: "/go?a=1&b=2", hidden: { state: hostile } });
});

test("the error for a page without a form includes the page", () => {
  expect(() => readSignInForm("<h1>Closed</h1>")).toThrow(
    "Cannot find a sign-in form in the page\n<h1>Closed</h1>",
  );
});
