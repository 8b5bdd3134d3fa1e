import type { CheckCase } from "./check-case.ts";

export const documentedRoutes: CheckCase = {
  broken: {
    "apps/hearth/src/models/http.ts": `
const models = "/api/models";

export const modelRoutes = [
  { method: "GET", path: "/api/tags", access: "key" },
  { method: "GET", path: \`\${models}/:model\`, access: "key" },
];
`,
    "apps/hearth/src/routes.ts": `
export const routes = [
  { method: "GET", path: "/api/version", access: "anyone" },
  { method: ["GET", "HEAD"], path: "/", access: "anyone" },
  { method: "POST", path: "/api/chat", access: "key" },
];
`,
    "apps/keep/src/routes.ts": "export const routes = [];",
    "docs/hearth/api.md": `
# Routes

| Method | Path | What |
|---|---|---|
| GET | \`/api/version\` | The version |
| GET | \`/\` | A greeting |
| GET | \`/api/chat\` | The wrong method |
| DELETE | \`/api/gone\` | Does not exist |
`,
  },
  valid: {
    "apps/hearth/src/models/http.ts": `
const models = "/api/models";
const one = \`\${models}/:model\`;

export const modelRoutes = [
  { method: "GET", path: "/api/tags", access: "key" },
  { method: "GET", path: one, access: "key" },
  { method: "DELETE", path: \`\${one}/copies\`, access: "key" },
];
`,
    "apps/hearth/src/routes.ts": `
import { version } from "./version.ts";

export const routes = [
  { method: "GET", path: "/api/version", handle: version },
  { method: ["GET", "HEAD"], path: "/", handle: version },
];
`,
    "apps/hearth/src/version.ts": 'export const version = { path: "/not/a/route" };',
    "docs/hearth/api.md": `
# Routes

| Method | Path | What |
|---|---|---|
| GET | \`/api/version\` | The version |
| GET | \`/\` | A greeting |
| HEAD | \`/\` | A sign of life |
| GET | \`/api/tags\` | The models |
| GET | \`/api/models/:model\` | One model |
| DELETE | \`/api/models/:model/copies\` | Its copies |
`,
  },
  expected: [
    "apps/hearth/src/routes.ts:3",
    "apps/hearth/src/routes.ts:4",
    "apps/hearth/src/models/http.ts:4",
    "apps/hearth/src/models/http.ts:5",
    "docs/hearth/api.md:7",
    "docs/hearth/api.md:8",
    "apps/keep/src/routes.ts:1",
  ],
};
