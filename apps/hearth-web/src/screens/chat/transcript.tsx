import { memo, useLayoutEffect, useRef, useState } from "react";
import { DownIcon } from "../../design/icons.tsx";
import { editPrompt, regenerate } from "../../state/chats.ts";
import type { Conversation, ResponseTurn, Turn } from "../../state/conversation.ts";
import { useStore } from "../../state/store.ts";
import { type StreamingResponse, streamingResponses } from "../../state/stream-response.ts";
import { PromptView } from "./prompt-view.tsx";
import { MissingResponse, ResponseView, StreamingResponseView } from "./response-view.tsx";

/** Within this distance from the end, the view scrolls along with new text. */
const followPixels = 80;

export function Transcript({ conversation }: { readonly conversation: Conversation }) {
  const { id, turns } = conversation;
  const streaming = useStore(streamingResponses, (all) => all.get(id));
  const { container, isAtEnd, scrollToEnd, handleScroll } = useScrollToEnd([streaming, turns]);
  const last = turns.at(-1);
  return (
    <div className="transcript-frame">
      {/* A scrollable region must be focusable for keyboard users. */}
      <section
        className="transcript"
        aria-label="Conversation"
        tabIndex={0}
        ref={container}
        onScroll={handleScroll}
      >
        <div className="transcript-column">
          {turns.map((turn) => (
            <TurnView key={turn.id} id={id} turn={turn} isLast={turn === last && streaming === undefined} />
          ))}
          {streaming === undefined && last?.role === "user" && (
            <MissingResponse onRegenerate={() => void regenerate(id)} />
          )}
          {streaming !== undefined && (
            <StreamingResponseView response={streaming} model={conversation.model} />
          )}
        </div>
      </section>
      {!isAtEnd && (
        <button
          type="button"
          className="button round scroll-to-end"
          aria-label="Scroll to the end"
          onClick={scrollToEnd}
        >
          <DownIcon />
        </button>
      )}
      <p className="visually-hidden" role="status">
        {announce(streaming, last)}
      </p>
    </div>
  );
}

/** Screen readers announce that a response started and ended, not every token. */
function announce(streaming: StreamingResponse | undefined, last: Turn | undefined): string {
  if (streaming !== undefined) return "Generating a response";
  if (last?.role !== "assistant") return "";
  return endAnnouncements[last.ending](last);
}

const endAnnouncements: Readonly<Record<ResponseTurn["ending"], (turn: ResponseTurn) => string>> = {
  done: ({ text }) => `Response complete: ${text.slice(0, 500)}`,
  length: () => "Response stopped at the token limit",
  stopped: () => "Response stopped",
  cut: () => "Response cut off",
  failed: ({ error }) => error?.message ?? "No response",
};

type TurnViewProps = { readonly id: string; readonly turn: Turn; readonly isLast: boolean };

const TurnView = memo(function TurnView({ id, turn, isLast }: TurnViewProps) {
  if (turn.role === "user") {
    return <PromptView prompt={turn} onEdit={(text) => void editPrompt(id, turn.id, text)} />;
  }
  return <ResponseView turn={turn} {...(isLast ? { onRegenerate: () => void regenerate(id) } : {})} />;
});

/** Keeps the end in view when content is added, unless the user has scrolled up. */
function useScrollToEnd(changes: readonly unknown[]) {
  const container = useRef<HTMLElement>(null);
  const isFollowing = useRef(true);
  const [isAtEnd, setIsAtEnd] = useState(true);
  const handleScroll = (): void => {
    const { scrollHeight = 0, scrollTop = 0, clientHeight = 0 } = container.current ?? {};
    isFollowing.current = scrollHeight - scrollTop - clientHeight < followPixels;
    setIsAtEnd(isFollowing.current);
  };
  const scrollToEnd = (): void => {
    isFollowing.current = true;
    container.current?.scrollTo({ top: container.current.scrollHeight });
  };
  useLayoutEffect(() => {
    if (!isFollowing.current) return;
    container.current?.scrollTo({ top: container.current.scrollHeight, behavior: "instant" });
  }, changes);
  return { container, isAtEnd, scrollToEnd, handleScroll };
}
