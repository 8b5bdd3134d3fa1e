import type { CheckCase } from "./check-case.ts";

const reason = "The slot stayed taken until the request timed out.";

export const commitMessages: CheckCase = {
  broken: {
    "commits/01": `
Free the slot of a client that disconnects

${reason}
`,
    "commits/02": `
scheduling: frees the slot of a client that disconnects

${reason}
`,
    "commits/03": `
scheduling: freed the slot of a client that disconnects

${reason}
`,
    "commits/04": `
scheduling: free the slot of a client that disconnects.

${reason}
`,
    "commits/05": `
scheduling: free the slot of a client that disconnects while it waits queued

${reason}
`,
    "commits/06": `
scheduling: free the slot at once
${reason}
`,
    "commits/07": `
scheduling: free the slot early
`,
    "commits/08": `
scheduling: free the slot soon

Signed-off-by: An author of this change <author@example.com>.
`,
    "commits/09": `
scheduling: free the slot

Slots.
`,
  },
  valid: {
    "commits/01": `
scheduling: free the slot of a client that disconnects

${reason}
`,
    "commits/02": `
packages/engine, llama-engine/driver: seed what has none; claims: count

Tests depended on chance. Tried first:
a retry, which hides a real failure.

Signed-off-by: Author <author@example.com>
`,
    "commits/03": `
dialects/ollama: pass a template's own stop strings on

They were lost, so that responses did
not end.
`,
  },
  expected: [
    'commit "Free the slot of a client that disconnects":1',
    'commit "scheduling: frees the slot of a client that disconnects":1',
    'commit "scheduling: freed the slot of a client that disconnects":1',
    'commit "scheduling: free the slot of a client that disconnects.":1',
    'commit "scheduling: free the slot of a client that disconnects while it waits queued":1',
    'commit "scheduling: free the slot at once":2',
    'commit "scheduling: free the slot early":3',
    'commit "scheduling: free the slot soon":3',
    'commit "scheduling: free the slot":3',
  ],
};
