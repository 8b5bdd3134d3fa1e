import type { CheckCase } from "./check-case.ts";

export const noDeveloperPaths: CheckCase = {
  broken: {
    "apps/hearth/src/fixtures/response.json": '{ "path": "{slash}home{slash}developer" }',
    "docs/start.md": `
# Start

Open \`{slash}home{slash}developer/code\` first.
Then file://{slash}Users{slash}developer/code.
The log is in {slash}root{slash}log.
Never C:{backslash}Users{backslash}developer.
`,
    "scripts/start.sh": 'cd "{slash}work{slash}clone"',
  },
  valid: {
    "docs/start.md": `
# Start

Models are in ~/.cache and \`$HOME/work/models\`; the service runs in /var/lib/hearth, see docs/work/flow.
The page https://example.com/home/page mentions /work.
`,
    "scripts/start.sh": 'cd "$root/work/clone" && ls "${XDG}/home/x" ./root/a',
  },
  expected: [
    "docs/start.md:3",
    "docs/start.md:4",
    "docs/start.md:5",
    "docs/start.md:6",
    "scripts/start.sh:1",
    "apps/hearth/src/fixtures/response.json:1",
  ],
};
