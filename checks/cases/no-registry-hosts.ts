import type { CheckCase } from "./check-case.ts";

export const noRegistryHosts: CheckCase = {
  broken: {
    "deploy/Dockerfile": "RUN pip install --index-url https://files{dot}pythonhosted{dot}org/simple x",
    "docs/start.md": `
Get it from https://registry{dot}npmjs{dot}org/x.

Or see WWW{dot}NPMJS{dot}COM and pypi{dot}org.
`,
  },
  valid: {
    "docs/start.md": `
Get it with npm. Models come from https://registry.ollama.ai and https://huggingface.co.

The host notnpmjs{dot}org and npmjs{dot}organic are others.
`,
  },
  expected: ["docs/start.md:1", "docs/start.md:3", "deploy/Dockerfile:1"],
};
