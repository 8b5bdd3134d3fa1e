import type { Conversation, Engine, Message } from "@hearth-and-keep/llama-engine";

export type FittedConversation = { readonly conversation: Conversation; readonly droppedMessages: number };

/**
 * Leaves out as few of the oldest messages as make the rest fit into the context. System messages and the last
 * message stay; when those alone are too long, they are kept, and the engine refuses them with both counts.
 */
export async function fitConversation(
  { engine, contextTokens }: { readonly engine: Engine; readonly contextTokens: number },
  conversation: Conversation,
): Promise<FittedConversation> {
  const { messages } = conversation;
  const old = messages.filter((message, index) => message.role !== "system" && index < messages.length - 1);
  const fits = async (dropped: number): Promise<boolean> =>
    (await engine.count(without(conversation, old.slice(0, dropped)))) < contextTokens;
  if (old.length === 0 || (await fits(0))) return { conversation, droppedMessages: 0 };
  // Fewer messages never make a longer prompt, so the least number is found by halving.
  let tooFew = 0;
  let enough = old.length;
  while (enough - tooFew > 1) {
    const middle = Math.floor((tooFew + enough) / 2);
    if (await fits(middle)) enough = middle;
    else tooFew = middle;
  }
  return { conversation: without(conversation, old.slice(0, enough)), droppedMessages: enough };
}

function without(conversation: Conversation, dropped: readonly Message[]): Conversation {
  const gone = new Set(dropped);
  return { ...conversation, messages: conversation.messages.filter((message) => !gone.has(message)) };
}
