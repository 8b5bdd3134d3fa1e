/** Glob patterns of source files, by the part of the program that displays their text. */
export type Program = Readonly<Record<string, readonly string[]>>;

const engineHost = "{engine,engine-host,chat-templates,output-grammars,llama-engine,upstream-engine,gguf}";

export const programs: Readonly<Record<string, Program>> = {
  hearth: {
    "command line": [
      "apps/hearth/bin/*.js",
      "apps/hearth/src/main.ts",
      "apps/hearth/src/{commands,terminal,server-client}/**/*.ts",
      "packages/{command-line,terminal,hearth-contract}/src/**/*.ts",
    ],
    settings: ["apps/hearth/src/**/*config.ts", "packages/configuration/src/**/*.ts"],
    API: [
      "apps/hearth/src/*.ts",
      "apps/hearth/src/{access,dialects,engines,generation,images,models,openapi,scheduling,web-ui}/**/*.ts",
      `packages/${engineHost}/src/**/*.ts`,
      "packages/{http-service,outbound-http,failures}/src/**/*.ts",
    ],
    "web UI": ["apps/hearth-web/src/**/*.{ts,tsx,html}", "packages/page-design/src/**/*.{ts,tsx}"],
  },
  keep: {
    "command line": [
      "apps/keep/bin/*.js",
      "apps/keep/src/main.ts",
      "apps/keep/src/{commands,client}/**/*.ts",
    ],
    settings: ["apps/keep/src/**/*config.ts"],
    API: [
      "apps/keep/src/*.ts",
      "apps/keep/src/{access,accounts,audit,authorization,cleanup,cluster,console,database,idempotency,keys,openapi,secrets,tokens,vaults}/**/*.ts",
      "packages/{vault-contract,envelope-crypto,audit-chain,audit-records,transparency-log}/src/**/*.ts",
    ],
    "sign-in pages": ["apps/keep/src/{sign-in,logins}/**/*.ts"],
    console: ["apps/keep-console/src/**/*.{ts,tsx,html}"],
  },
};
