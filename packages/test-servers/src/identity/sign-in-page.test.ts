import { expect, test } from "vitest";
import { readSignInForm, renderSignInPage } from "./sign-in-page.ts";

test("what an application sends is shown as text, and comes back from the form as it was", () => {
  const hostile = `"><script>alert('&amp;')</script>`;
  const html = renderSignInPage({
    title: "Sign in",
    action: "/go?a=1&b=2",
    lines: [hostile],
    asksAccount: true,
    allowLabel: "Allow",
    denyLabel: "Deny",
    hidden: { state: hostile },
  });
  expect(html).not.toContain("<script>");
  expect(readSignInForm(html)).toEqual({ action: "/go?a=1&b=2", hidden: { state: hostile } });
});

test("a page without a form is reported with the page", () => {
  expect(() => readSignInForm("<h1>Closed</h1>")).toThrow(
    "Cannot find a sign-in form in the page\n<h1>Closed</h1>",
  );
});
