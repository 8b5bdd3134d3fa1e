import type { CheckCase } from "./check-case.ts";

export const documentsOnlyInWorkers: CheckCase = {
  shared: {
    "installed/pdfjs-dist/package.json": '{ "name": "pdfjs-dist", "main": "index.js" }',
    "installed/pdfjs-dist/index.js": "export const getDocument = 1;",
    "packages/document-text/src/worker/main.ts": `
import { getDocument } from "pdfjs-dist";

export const parse = getDocument;
`,
  },
  broken: {
    "packages/document-text/src/index.ts": `
import { getDocument } from "pdfjs-dist";

export const parse = getDocument;
`,
  },
  valid: {
    "packages/document-text/src/index.ts": "export const parse = 1;",
  },
  expected: ["packages/document-text/src/index.ts:1"],
};
