import { getLlama, LlamaLogLevel, TokenBias } from "node-llama-cpp";

// The binding alone, as fast as it goes: no port, no channel per token, no supervision. Started by bare-binding.ts.
type Setup = { readonly modelPath: string; readonly sequences: number; readonly threads: number };
type Ask = { readonly prompts: readonly string[]; readonly tokens: number };

async function setUp({ modelPath, sequences, threads }: Setup): Promise<(ask: Ask) => Promise<number>> {
  const llama = await getLlama({ gpu: false, build: "never", maxThreads: 0, logLevel: LlamaLogLevel.error });
  const model = await llama.loadModel({ modelPath });
  const context = await model.createContext({ sequences, contextSize: 2048, threads, batchSize: 512 });
  const places = Array.from({ length: sequences }, () => context.getSequence());
  const tokenBias = TokenBias.for(model);
  for (const token of [model.tokens.eos, model.tokens.bos]) if (token !== null) tokenBias.set(token, "never");
  return async ({ prompts, tokens }) => {
    for (const place of places) await place.clearHistory();
    const startedAt = performance.now();
    await Promise.all(
      prompts.map(async (prompt, index) => {
        let left = tokens;
        const input = model.tokenize(prompt, true);
        for await (const token of places[index]?.evaluate(input, { temperature: 0, tokenBias }) ?? []) {
          model.detokenize([token]);
          left -= 1;
          if (left === 0) break;
        }
      }),
    );
    return (prompts.length * tokens * 1000) / (performance.now() - startedAt);
  };
}

let measure: ((ask: Ask) => Promise<number>) | undefined;
async function answer(message: Setup | Ask): Promise<unknown> {
  if (!("modelPath" in message)) return measure?.(message);
  measure = await setUp(message);
  return "ready";
}

process.on("message", (message: Setup | Ask) => {
  void answer(message).then((value) => process.send?.(value));
});
process.on("disconnect", () => process.exit(0));
