import { expect, test } from "vitest";
import { decodeEntities } from "./decode-entities.ts";

test("named and numeric references are decoded, once", () => {
  expect(decodeEntities("A&nbsp;B &amp; C")).toBe("A\u00A0B & C");
  expect(decodeEntities("&lt;b&gt; &quot;&apos; &copy; &yuml; &eacute; &Uuml; &mdash; &hellip; &rarr;")).toBe(
    "<b> \"' © ÿ é Ü — … →",
  );
  expect(decodeEntities("&alpha;&omega; &Alpha;&Sigma;&Omega; &pi;")).toBe("αω ΑΣΩ π");
  expect(decodeEntities("&#65;&#x42;&#X1F525; &#39;")).toBe("AB🔥 '");
  expect(decodeEntities("&amp;lt;")).toBe("&lt;");
});

test("text that only looks like a reference is kept, and invalid code points become U+FFFD", () => {
  for (const text of [
    "R&D",
    "a &b; c",
    "&nothing;",
    "&;",
    "&#;",
    "&#x;",
    "x && y",
    "&amp",
    "&constructor;",
  ]) {
    expect(decodeEntities(text)).toBe(text);
  }
  expect(decodeEntities("&#0;&#xD800;&#9999999;")).toBe("\uFFFD\uFFFD\uFFFD");
});
