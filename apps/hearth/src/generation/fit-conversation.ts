import type { Conversation, Engine, Message } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";

export type FittedConversation = { readonly conversation: Conversation; readonly droppedMessages: number };

/**
 * Leaves out as few of the oldest messages as make the rest fit into the context. System messages and the last
 * message stay; when those alone are too long, they are kept, and the engine refuses them with both counts.
 * Nothing is left out by a guess: where the context or the count is not known, the engine judges the whole.
 */
export async function fitConversation(
  { engine, contextTokens }: { readonly engine: Engine; readonly contextTokens: number },
  conversation: Conversation,
  signal: AbortSignal,
): Promise<FittedConversation> {
  const { messages } = conversation;
  const old = messages.filter((message, index) => message.role !== "system" && index < messages.length - 1);
  const whole = { conversation, droppedMessages: 0 };
  if (old.length === 0 || engine.describe().isContextGuessed === true) return whole;
  const fits = async (dropped: number): Promise<boolean> => {
    signal.throwIfAborted();
    return (await engine.count(without(conversation, old.slice(0, dropped)), signal)) < contextTokens;
  };
  try {
    const dropped = await leastThatFits(fits, old.length);
    return { conversation: without(conversation, old.slice(0, dropped)), droppedMessages: dropped };
  } catch (problem) {
    if (problem instanceof FailureError && uncounted.has(problem.failure.kind)) return whole;
    throw problem;
  }
}

/** The engine cannot count, or does not answer when it is asked to; it may answer all the same. */
const uncounted: ReadonlySet<string> = new Set(["not-supported", "engines-unavailable"]);

async function leastThatFits(fits: (dropped: number) => Promise<boolean>, most: number): Promise<number> {
  if (await fits(0)) return 0;
  // Fewer messages never make a longer prompt, so the least number is found by halving.
  let tooFew = 0;
  let enough = most;
  while (enough - tooFew > 1) {
    const middle = Math.floor((tooFew + enough) / 2);
    if (await fits(middle)) enough = middle;
    else tooFew = middle;
  }
  return enough;
}

function without(conversation: Conversation, dropped: readonly Message[]): Conversation {
  if (dropped.length === 0) return conversation;
  const gone = new Set(dropped);
  return { ...conversation, messages: conversation.messages.filter((message) => !gone.has(message)) };
}
