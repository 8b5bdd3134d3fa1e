import type { CheckCase } from "./check-case.ts";

export const noTestCodeInProduction: CheckCase = {
  shared: {
    "apps/keep/src/database/pool.test.ts": `
import { startPostgres } from "@hearth-and-keep/test-servers";

export const port = startPostgres();
`,
    "checks/index.ts": "export const checks = [];",
    "packages/failures/src/testing.ts": 'export { fake } from "@hearth-and-keep/llama-engine/testing";',
    "packages/llama-engine/src/index.ts": "export const engine = 1;",
    "packages/llama-engine/src/fake.test.ts": "export const cases = [];",
    "packages/llama-engine/src/testing.ts": "export const fake = 2;",
    "packages/test-servers/src/index.ts": "export const startPostgres = (): number => 5432;",
    "claims/main.ts": `
import { startPostgres } from "@hearth-and-keep/test-servers";

startPostgres();
`,
  },
  broken: {
    "apps/hearth/src/scheduling/scheduler.ts": `
import { fake } from "@hearth-and-keep/llama-engine/testing";

export const engine = fake;
`,
    "apps/hearth/src/server.ts": `
import { checks } from "../../../checks/index.ts";

export const all = checks;
`,
    "apps/keep/src/database/pool.ts": `
import { startPostgres } from "@hearth-and-keep/test-servers";

export const port = startPostgres();
`,
    "packages/llama-engine/src/worker.ts": `
import { cases } from "./fake.test.ts";

export const worker = cases;
`,
  },
  valid: {
    "apps/hearth/src/scheduling/scheduler.ts": `
import { engine } from "@hearth-and-keep/llama-engine";

export const loaded = engine;
`,
    "apps/keep/src/database/pool.ts": "export const port = 5432;",
  },
  expected: [
    "apps/hearth/src/scheduling/scheduler.ts:1",
    "apps/hearth/src/server.ts:1",
    "apps/keep/src/database/pool.ts:1",
    "packages/llama-engine/src/worker.ts:1",
  ],
};
