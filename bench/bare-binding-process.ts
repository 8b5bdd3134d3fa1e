import { getLlama, LlamaLogLevel, TokenBias } from "node-llama-cpp";

// The bare binding, without Hearth's engine port, IPC per token or supervision. Started by bare-binding.ts.
type Setup = { readonly modelPath: string; readonly sequences: number; readonly threads: number };
type Batch = { readonly prompts: readonly string[]; readonly tokens: number };

async function setUp({ modelPath, sequences, threads }: Setup): Promise<(batch: Batch) => Promise<number>> {
  const llama = await getLlama({ gpu: false, build: "never", maxThreads: 0, logLevel: LlamaLogLevel.error });
  const model = await llama.loadModel({ modelPath });
  const context = await model.createContext({ sequences, contextSize: 2048, threads, batchSize: 512 });
  const slots = Array.from({ length: sequences }, () => context.getSequence());
  const tokenBias = TokenBias.for(model);
  for (const token of [model.tokens.eos, model.tokens.bos]) if (token !== null) tokenBias.set(token, "never");
  return async ({ prompts, tokens }) => {
    for (const slot of slots) await slot.clearHistory();
    const startedAt = performance.now();
    await Promise.all(
      prompts.map(async (prompt, index) => {
        let remaining = tokens;
        const input = model.tokenize(prompt, true);
        for await (const token of slots[index]?.evaluate(input, { temperature: 0, tokenBias }) ?? []) {
          model.detokenize([token]);
          remaining -= 1;
          if (remaining === 0) break;
        }
      }),
    );
    return (prompts.length * tokens * 1000) / (performance.now() - startedAt);
  };
}

let measure: ((batch: Batch) => Promise<number>) | undefined;
async function handleMessage(message: Setup | Batch): Promise<unknown> {
  if (!("modelPath" in message)) return measure?.(message);
  measure = await setUp(message);
  return "ready";
}

process.on("message", (message: Setup | Batch) => {
  void handleMessage(message).then((value) => process.send?.(value));
});
process.on("disconnect", () => process.exit(0));
