import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { testModel } from "@hearth-and-keep/test-servers";

export type BareBinding = AsyncDisposable & {
  /** Tokens per second over all prompts, which are evaluated concurrently. */
  throughput(prompts: readonly string[], tokens: number): Promise<number>;
};

/** Starts the bare binding in its own process, so that both sides have a thread pool of one thread. */
export async function startBareBinding(plan: {
  readonly sequences: number;
  readonly threads: number;
}): Promise<BareBinding> {
  const program = fileURLToPath(new URL("bare-binding-process.ts", import.meta.url));
  const child = fork(program, [], { env: { UV_THREADPOOL_SIZE: "1" }, execArgv: [] });
  child.send({ modelPath: await testModel("smollm2-135m-instruct-q4_1.gguf"), ...plan });
  await once(child, "message");
  return {
    async throughput(prompts, tokens) {
      child.send({ prompts, tokens });
      const [measured] = await once(child, "message");
      return Number(measured);
    },
    async [Symbol.asyncDispose]() {
      child.kill();
      await once(child, "exit");
    },
  };
}
