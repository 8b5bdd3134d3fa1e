import type { CheckCase } from "./check-case.ts";

export const plainNames: CheckCase = {
  broken: {
    "apps/hearth/src/config.ts": `
export const settings = {
  waitingPlaces: numberSetting(),
};
`,
    "apps/hearth/src/papers/read.ts": "export {};",
    "apps/hearth/src/routes.ts": `
export const routes = [
  { method: "GET", path: "/api/whereabouts" },
];
`,
    "apps/keep-console/src/dialogs.tsx": `
export type Deed = { readonly kind: string };
export function tellProblem(): void {}
export const first = 1, parts = 2;
`,
  },
  valid: {
    "apps/hearth/src/config.ts": `
export const settings = {
  maxQueue: numberSetting(),
};
`,
    "apps/hearth/src/openapi/read.ts": "export {};",
    "apps/hearth/src/routes.ts": `
export const routes = [
  { method: "GET", path: "/api/status" },
];
`,
    "apps/keep-console/src/dialogs.tsx": `
const told = "inside a file, names are the author's";
export type Dialog = { readonly kind: string };
export const placeholder = told;
`,
    "docs/decisions/0009-a-place-for-it.md": "# Decision records keep their names",
  },
  expected: [
    "apps/hearth/src/papers/read.ts:1",
    "apps/hearth/src/config.ts:2",
    "apps/hearth/src/routes.ts:2",
    "apps/keep-console/src/dialogs.tsx:1",
    "apps/keep-console/src/dialogs.tsx:2",
    "apps/keep-console/src/dialogs.tsx:3",
  ],
};
