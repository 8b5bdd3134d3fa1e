import type { MessageEvent } from "./event-types.ts";
import { startMessage, usageOf } from "./message-frame.ts";
import { type RequiredServerTool, unavailableBlocks } from "./server-tools.ts";

/** The events of a message whose only content is the failed call of a server tool. The model is not run. */
export async function* refuseServerTool(
  tool: RequiredServerTool,
  model: string,
): AsyncGenerator<readonly MessageEvent[]> {
  const usage = usageOf({ promptTokens: 0, cachedTokens: 0, outputTokens: 0, reasoningTokens: 0 });
  const blocks = unavailableBlocks(tool).flatMap((block, index): readonly MessageEvent[] => [
    { type: "content_block_start", index, content_block: block },
    { type: "content_block_stop", index },
  ]);
  const delta = { stop_reason: "end_turn", stop_sequence: null } as const;
  yield [
    ...startMessage(model, usage),
    ...blocks,
    { type: "message_delta", delta, usage },
    { type: "message_stop" },
  ];
}
