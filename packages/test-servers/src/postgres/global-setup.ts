import type { ProvidedContext } from "vitest";
import { sharePostgres } from "./shared-server.ts";

declare module "vitest" {
  interface ProvidedContext {
    sharedPostgresUrl: string;
  }
}

type SetupProject = {
  provide<Name extends keyof ProvidedContext>(name: Name, value: ProvidedContext[Name]): void;
};

/** Run by vitest once, before the first test file; what it returns runs after the last one. */
export default async function setup(project: SetupProject): Promise<() => Promise<void>> {
  const shared = await sharePostgres();
  project.provide("sharedPostgresUrl", shared.askingUrl);
  return async () => shared[Symbol.asyncDispose]();
}
