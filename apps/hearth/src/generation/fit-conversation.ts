import type { Conversation, Engine, Message } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";

export type FittedConversation = { readonly conversation: Conversation; readonly droppedMessages: number };

/**
 * Drops as few of the oldest messages as needed for the rest to fit into the context. System messages and the last
 * message always stay; if those alone are too long, the engine rejects them with both counts. If the context size or
 * the token count is unknown, nothing is dropped and the engine decides.
 */
export async function fitConversation(
  { engine, contextTokens }: { readonly engine: Engine; readonly contextTokens: number },
  conversation: Conversation,
  signal: AbortSignal,
): Promise<FittedConversation> {
  const { messages } = conversation;
  const droppable = messages.filter(
    (message, index) => message.role !== "system" && index < messages.length - 1,
  );
  const unchanged = { conversation, droppedMessages: 0 };
  if (droppable.length === 0 || engine.describe().isContextEstimated === true) return unchanged;
  const fits = async (dropped: number): Promise<boolean> => {
    signal.throwIfAborted();
    const rest = without(conversation, droppable.slice(0, dropped));
    return (await countOrTooMany(engine, rest, signal)) < contextTokens;
  };
  try {
    const dropped = await findMinimum(fits, droppable.length);
    return { conversation: without(conversation, droppable.slice(0, dropped)), droppedMessages: dropped };
  } catch (error) {
    if (error instanceof FailureError && uncountable.has(error.failure.kind)) return unchanged;
    throw error;
  }
}

/** The engine cannot count or does not respond to the count; it may still generate. */
const uncountable: ReadonlySet<string> = new Set(["not-supported", "engines-unavailable"]);

/** An engine need not count a conversation that is far too long. */
async function countOrTooMany(
  engine: Engine,
  conversation: Conversation,
  signal: AbortSignal,
): Promise<number> {
  try {
    return await engine.count(conversation, signal);
  } catch (error) {
    if (error instanceof FailureError && error.failure.kind === "prompt-too-long")
      return Number.POSITIVE_INFINITY;
    throw error;
  }
}

async function findMinimum(fits: (dropped: number) => Promise<boolean>, max: number): Promise<number> {
  if (await fits(0)) return 0;
  // Dropping a message never makes the prompt longer, so binary search finds the minimum.
  let tooFew = 0;
  let enough = max;
  while (enough - tooFew > 1) {
    const middle = Math.floor((tooFew + enough) / 2);
    if (await fits(middle)) enough = middle;
    else tooFew = middle;
  }
  return enough;
}

function without(conversation: Conversation, dropped: readonly Message[]): Conversation {
  if (dropped.length === 0) return conversation;
  const droppedSet = new Set(dropped);
  return { ...conversation, messages: conversation.messages.filter((message) => !droppedSet.has(message)) };
}
