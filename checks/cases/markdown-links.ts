import type { CheckCase } from "./check-case.ts";

export const markdownLinks: CheckCase = {
  shared: {
    "src/code.ts": "export const code = 1;",
  },
  broken: {
    "README.md": `
# Title

[gone](docs/gone.md), [no such anchor](docs/page.md#nowhere) and ![no image](docs/picture.png).
[own anchor](#titel)
[outside](../elsewhere.md)
[a line too far](src/code.ts#L9)
<img src="docs/none.png">
[by reference][there]

[there]: docs/there.md
`,
    "docs/page.md": `
# Page

[absolute](/docs/none.md)

\`\`\`
# nowhere
\`\`\`
`,
  },
  valid: {
    "README.md": `
# Title of "this" \`page\`

[page](docs/page.md), [anchor](docs/page.md#a-heading-with-a-link), [second](docs/page.md#twice-1), ![image](docs/picture.png "shown")
[own](#title-of-this-page), [folder](docs/), [folder too](docs), [line](src/code.ts#L1), [lines](src/code.ts#L1-L2)
[spaces](<docs/with space.md>), [encoded](docs/with%20space.md), [brackets](docs/a_(b).md), [id](docs/page.md#by-hand)
[web](https://example.com/gone.md#x), [mail](mailto:someone@example.com), [by reference][there]
\`[code](gone.md)\` and <a href="docs/page.md#twice">html</a>

\`\`\`md
[code](gone.md)
\`\`\`

<!-- [comment](gone.md) -->

[there]: docs/page.md
[^1]: A footnote is not a link.
`,
    "docs/a_(b).md": "# Brackets",
    "docs/fixtures/broken.md": "[gone](gone.md)",
    "docs/page.md": `
# Page

[absolute](/README.md) [up](../README.md)

## A heading, with [a link](../README.md)!

## Twice

## Twice

<a id="by-hand"></a>
`,
    "docs/picture.png": "not really",
    "docs/with space.md": "# Spaces",
  },
  expected: [
    "README.md:3",
    "README.md:3",
    "README.md:3",
    "README.md:4",
    "README.md:5",
    "README.md:6",
    "README.md:7",
    "README.md:10",
    "docs/page.md:3",
  ],
};
