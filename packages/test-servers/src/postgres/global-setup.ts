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

/** Vitest runs this once before the first test file, and the returned function after the last one. */
export default async function setup(project: SetupProject): Promise<() => Promise<void>> {
  const shared = await sharePostgres();
  project.provide("sharedPostgresUrl", shared.discoveryUrl);
  return async () => shared[Symbol.asyncDispose]();
}
