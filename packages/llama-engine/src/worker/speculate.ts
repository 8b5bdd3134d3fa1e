import type { LlamaContext, LlamaContextSequence, Token } from "node-llama-cpp";
import { type Guess, PromptLookup } from "./prompt-lookup.ts";
import { BatchCosts, maxGuessTokens, SpeculationBudget, type VerifiedGuess } from "./speculation-budget.ts";

type SpeculationPlan = {
  readonly sequence: LlamaContextSequence;
  /** The prompt and the output so far. Tokens that were guessed right are appended before they are yielded. */
  readonly history: Token[];
  /** Guesses take time from the streams of others, whose tokens already share the cost of a batch. */
  readonly isAlone: () => boolean;
  /** How many tokens the output may still have, after the one that is computed next. */
  readonly remainingTokens: () => number;
};

export type Speculation = Disposable & Pick<SpeculationBudget, "proposedTokens" | "acceptedTokens">;

/** What the binding's sequences request of its context: see native-context.ts for the rules of using internals. */
type DecodeRequest = {
  readonly sequenceId: number;
  readonly tokens: readonly Token[];
  readonly logits: readonly (true | undefined)[];
  readonly firstTokenSequenceIndex: number;
};

/** Samples from the logits at one position of a batch; the result is a token, or begins with it. */
type Sample = (batchIndex: number, position: number) => unknown;
type Decode = (request: DecodeRequest, sample: Sample) => Promise<readonly (readonly [number, unknown])[]>;

type HiddenContext = {
  readonly _decodeTokens: Decode;
  readonly _ctx: { removeTokenCellsFromSequence(sequenceId: number, start: number, end: number): boolean };
};
type HiddenSequence = {
  readonly _sequenceId: number;
  readonly _nextTokenIndex: number;
  readonly _contextTokens: readonly Token[];
};

/** Starts to guess for one request; undefined if the model's state cannot be rewound token by token. */
export type StartSpeculation = (plan: SpeculationPlan) => Speculation | undefined;

/**
 * Verifies guessed tokens in the same batch as the token before them. Every position is sampled by the request's own
 * sampler, in order, and only until the first result that differs from the guess: the sampler, its random numbers,
 * penalties and grammar see exactly the tokens that they would see without guesses. The results of right guesses are kept,
 * and the binding receives them one by one without computing; it does not notice that there was a guess.
 *
 * The binding's own predictors accept at most one token of a guess and sample beyond the first wrong one.
 */
export function hookSpeculation(context: LlamaContext): StartSpeculation {
  // The binding's types omit its internals.
  const hidden = context as unknown as HiddenContext;
  const { _decodeTokens: decodeTokens, _ctx: native } = hidden;
  if (typeof decodeTokens !== "function" || typeof native.removeTokenCellsFromSequence !== "function") {
    throw new Error("This version of node-llama-cpp is not supported: its batches have changed");
  }
  const decode: Decode = decodeTokens.bind(context);
  const costs = new BatchCosts();
  const active = new Map<number, SpeculativeDecoder>();
  const decodeWithGuesses: Decode = (request, sample) => {
    const decoder = request.tokens.length === 1 ? active.get(request.sequenceId) : undefined;
    return decoder === undefined ? decode(request, sample) : decoder.decode(request, sample);
  };
  Object.assign(context, { _decodeTokens: decodeWithGuesses });
  return (plan) => {
    if (plan.sequence.needsCheckpoints) return undefined;
    // As above.
    const { _sequenceId: id } = plan.sequence as unknown as HiddenSequence;
    const removeCells = (start: number, end: number): void => {
      if (start < end && !native.removeTokenCellsFromSequence(id, start, end))
        throw new Error("Cannot remove wrong guesses from a sequence");
    };
    const decoder = new SpeculativeDecoder(plan, { decode, removeCells, costs });
    active.set(id, decoder);
    return {
      get proposedTokens() {
        return decoder.budget.proposedTokens;
      },
      get acceptedTokens() {
        return decoder.budget.acceptedTokens;
      },
      [Symbol.dispose]() {
        active.delete(id);
        decoder.end();
      },
    };
  };
}

type NativeBatches = {
  readonly decode: Decode;
  readonly removeCells: (start: number, end: number) => void;
  readonly costs: BatchCosts;
};

/** A token that was guessed right and is computed, and what was sampled after it. */
type Result = { readonly token: Token; readonly value: unknown };

class SpeculativeDecoder {
  readonly budget: SpeculationBudget;
  readonly #plan: SpeculationPlan;
  readonly #native: NativeBatches;
  readonly #lookup: PromptLookup;
  readonly #ready: Result[] = [];

  constructor(plan: SpeculationPlan, native: NativeBatches) {
    this.#plan = plan;
    this.#native = native;
    this.#lookup = new PromptLookup(plan.history);
    this.budget = new SpeculationBudget(native.costs);
  }

  async decode(request: DecodeRequest, sample: Sample): ReturnType<Decode> {
    const ready = this.#ready.shift();
    if (ready !== undefined) return [[request.firstTokenSequenceIndex, ready.value]];
    const { isAlone } = this.#plan;
    const wasAlone = isAlone();
    const guess = wasAlone ? this.#guess() : undefined;
    const length = guess === undefined ? 0 : this.budget.chooseLength(guess);
    const startedAt = performance.now();
    const measure = (): number | undefined =>
      wasAlone && isAlone() ? performance.now() - startedAt : undefined;
    if (guess === undefined || length === 0) {
      const results = await this.#native.decode(request, sample);
      this.budget.recordSingle(measure());
      if (guess !== undefined)
        this.budget.recordUnverified(guess, tokenOf(results[0]?.[1]) === guess.tokens[0]);
      return results;
    }
    const shortened = { ...guess, tokens: guess.tokens.slice(0, length) };
    const { value, ...verified } = await this.#verify(shortened, request, sample);
    this.budget.recordVerified(verified, measure());
    return [[request.firstTokenSequenceIndex, value]];
  }

  /** The tokens after those that were read are part of the sequence too: they are computed, and the model chose them. */
  end(): void {
    if (this.#ready.length === 0) return;
    // As above.
    const sequence = this.#plan.sequence as unknown as HiddenSequence;
    const { _contextTokens: tokens, _nextTokenIndex: next } = sequence;
    Object.assign(sequence, {
      _contextTokens: [...tokens, ...this.#ready.map(({ token }) => token)],
      _nextTokenIndex: next + this.#ready.length,
    });
    this.#ready.length = 0;
  }

  #guess(): Guess | undefined {
    const { sequence, remainingTokens } = this.#plan;
    const { nextTokenIndex, contextSize, model } = sequence;
    // The binding keeps the last cell of a context free.
    const space = contextSize - 2 - nextTokenIndex;
    const found = this.#lookup.guess(Math.min(maxGuessTokens, space, remainingTokens()));
    if (found === undefined) return undefined;
    const end = found.tokens.findIndex((token) => model.isEogToken(token));
    const tokens = end < 0 ? found.tokens : found.tokens.slice(0, end);
    return tokens.length === 0 ? undefined : { ...found, tokens };
  }

  async #verify(
    { tokens: guessed, matchedTokens }: Guess,
    request: DecodeRequest,
    sample: Sample,
  ): Promise<VerifiedGuess & { readonly value: unknown }> {
    const first = request.firstTokenSequenceIndex;
    const tokens = [...request.tokens, ...guessed];
    const values: unknown[] = [];
    let isWrong = false;
    const sampleInOrder = async (batchIndex: number, position: number): Promise<void> => {
      if (!isWrong) {
        const value = await sample(batchIndex, first);
        const next = guessed[values.length];
        values.push(value);
        isWrong = next === undefined || tokenOf(value) !== next;
        if (!isWrong && next !== undefined) this.#plan.history.push(next);
      }
      // Here, because no batch is being computed.
      if (position === first + guessed.length) this.#native.removeCells(first + values.length, position + 1);
    };
    await this.#native.decode({ ...request, tokens, logits: tokens.map(() => true) }, sampleInOrder);
    const [value, ...rest] = values;
    for (const [index, token] of guessed.slice(0, rest.length).entries())
      this.#ready.push({ token, value: rest[index] });
    return { proposed: guessed.length, accepted: rest.length, matchedTokens, value };
  }
}

function tokenOf(value: unknown): unknown {
  return Array.isArray(value) ? value[0] : value;
}
