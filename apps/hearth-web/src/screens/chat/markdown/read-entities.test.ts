import { expect, test } from "vitest";
import { readEntities } from "./read-entities.ts";

test("names and numbers become their characters, once", () => {
  expect(readEntities("A&nbsp;B &amp; C")).toBe("A\u00A0B & C");
  expect(readEntities("&lt;b&gt; &quot;&apos; &copy; &yuml; &eacute; &Uuml; &mdash; &hellip; &rarr;")).toBe(
    "<b> \"' © ÿ é Ü — … →",
  );
  expect(readEntities("&alpha;&omega; &Alpha;&Sigma;&Omega; &pi;")).toBe("αω ΑΣΩ π");
  expect(readEntities("&#65;&#x42;&#X1F525; &#39;")).toBe("AB🔥 '");
  expect(readEntities("&amp;lt;")).toBe("&lt;");
});

test("what is no entity stands as it was written, and what is no character is told", () => {
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
    expect(readEntities(text)).toBe(text);
  }
  expect(readEntities("&#0;&#xD800;&#9999999;")).toBe("\uFFFD\uFFFD\uFFFD");
});
