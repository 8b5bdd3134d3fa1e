import type { CheckCase } from "./check-case.ts";

export const productionLicences: CheckCase = {
  broken: {
    "package-lock.json": `
{
  "name": "hearth-and-keep",
  "lockfileVersion": 3,
  "packages": {
    "": {
      "devDependencies": {
        "tool": "1.0.0"
      }
    },
    "apps/hearth": {
      "dependencies": {
        "strict": "1.0.0",
        "nested": "1.0.0"
      },
      "devDependencies": {
        "@hearth-and-keep/logging": "0.0.0"
      }
    },
    "apps/keep": {
      "optionalDependencies": {
        "maybe": "1.0.0"
      }
    },
    "node_modules/@hearth-and-keep/logging": {
      "resolved": "packages/logging",
      "link": true
    },
    "packages/logging": {
      "dependencies": {
        "unstated": "1.0.0"
      }
    },
    "node_modules/strict": {
      "version": "1.0.0",
      "license": "GPL-3.0-only"
    },
    "node_modules/nested": {
      "version": "1.0.0",
      "license": "MIT",
      "dependencies": {
        "deep": "1.0.0"
      }
    },
    "node_modules/deep": {
      "version": "1.0.0",
      "license": "MIT"
    },
    "node_modules/nested/node_modules/deep": {
      "version": "1.0.0",
      "license": "(MIT AND AGPL-3.0-only)"
    },
    "node_modules/unstated": {
      "version": "1.0.0"
    },
    "node_modules/maybe": {
      "version": "1.0.0",
      "license": "MPL-2.0 OR EUPL-1.2"
    },
    "node_modules/tool": {
      "version": "1.0.0",
      "license": "MIT",
      "dev": true
    }
  }
}
`,
  },
  valid: {
    "package-lock.json": `
{
  "name": "hearth-and-keep",
  "lockfileVersion": 3,
  "packages": {
    "": {
      "devDependencies": {
        "tool": "1.0.0"
      }
    },
    "apps/hearth": {
      "dependencies": {
        "free": "1.0.0"
      },
      "devDependencies": {
        "@hearth-and-keep/logging": "0.0.0",
        "@hearth-and-keep/test-servers": "0.0.0",
        "typing": "1.0.0"
      }
    },
    "apps/keep": {
      "optionalDependencies": {
        "not-for-this-platform": "1.0.0"
      }
    },
    "node_modules/@hearth-and-keep/logging": {
      "resolved": "packages/logging",
      "link": true
    },
    "node_modules/@hearth-and-keep/test-servers": {
      "resolved": "packages/test-servers",
      "link": true
    },
    "packages/logging": {
      "dependencies": {
        "choice": "1.0.0"
      }
    },
    "packages/test-servers": {
      "dependencies": {
        "only-in-tests": "1.0.0"
      }
    },
    "node_modules/free": {
      "version": "1.0.0",
      "license": "0BSD",
      "peerDependencies": {
        "not-wanted": "*"
      }
    },
    "node_modules/choice": {
      "version": "1.0.0",
      "license": "(GPL-2.0-only OR (MIT AND ISC))"
    },
    "node_modules/only-in-tests": {
      "version": "1.0.0",
      "license": "GPL-3.0-only"
    },
    "node_modules/typing": {
      "version": "1.0.0",
      "license": "GPL-3.0-only",
      "dev": true
    },
    "node_modules/tool": {
      "version": "1.0.0",
      "license": "MPL-2.0",
      "dev": true
    }
  }
}
`,
  },
  expected: ["package-lock.json:33", "package-lock.json:48", "package-lock.json:52", "package-lock.json:55"],
};
