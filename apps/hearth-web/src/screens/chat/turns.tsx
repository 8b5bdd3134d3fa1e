import { memo, useLayoutEffect, useRef, useState } from "react";
import { DownIcon } from "../../design/icons.tsx";
import { type LiveAnswer, liveAnswers } from "../../state/answering.ts";
import { askAnew, regenerate } from "../../state/chats.ts";
import type { AnswerTurn, Conversation, Turn } from "../../state/conversation.ts";
import { useStore } from "../../state/store.ts";
import { AnswerView, GrowingAnswer, NoAnswer } from "./answer-view.tsx";
import { QuestionView } from "./question-view.tsx";

/** Nearer to the end than this, what comes is followed. */
const followPixels = 80;

export function Turns({ conversation }: { readonly conversation: Conversation }) {
  const { id, turns } = conversation;
  const live = useStore(liveAnswers, (all) => all.get(id));
  const { box, isAtEnd, toEnd, follow } = useFollowing([live, turns]);
  const last = turns.at(-1);
  return (
    <div className="turns-around">
      {/* It scrolls, so the keyboard has to come there. */}
      <section className="turns" aria-label="Conversation" tabIndex={0} ref={box} onScroll={follow}>
        <div className="turns-column">
          {turns.map((turn) => (
            <OneTurn key={turn.id} id={id} turn={turn} isLast={turn === last && live === undefined} />
          ))}
          {live === undefined && last?.role === "user" && <NoAnswer onAgain={() => void regenerate(id)} />}
          {live !== undefined && <GrowingAnswer live={live} model={conversation.model} />}
        </div>
      </section>
      {!isAtEnd && (
        <button type="button" className="button round to-end" aria-label="To the end" onClick={toEnd}>
          <DownIcon />
        </button>
      )}
      <p className="hidden-to-sight" role="status">
        {sayState(live, last)}
      </p>
    </div>
  );
}

/** A screen reader hears that an answer began and ended, not every piece of it. */
function sayState(live: LiveAnswer | undefined, last: Turn | undefined): string {
  if (live !== undefined) return "The answer is being written";
  if (last?.role !== "assistant") return "";
  return endings[last.ending](last);
}

const endings: Readonly<Record<AnswerTurn["ending"], (turn: AnswerTurn) => string>> = {
  done: ({ text }) => `The answer is complete: ${text.slice(0, 500)}`,
  length: () => "The answer reached its limit",
  stopped: () => "The answer was stopped",
  cut: () => "The answer broke off",
  failed: ({ problem }) => problem?.sentence ?? "There is no answer",
};

type OneTurnProps = { readonly id: string; readonly turn: Turn; readonly isLast: boolean };

const OneTurn = memo(function OneTurn({ id, turn, isLast }: OneTurnProps) {
  if (turn.role === "user") {
    return <QuestionView question={turn} onChange={(text) => void askAnew(id, turn.id, text)} />;
  }
  return <AnswerView turn={turn} {...(isLast ? { onAgain: () => void regenerate(id) } : {})} />;
});

/** The end stays in sight while it is, and only then. */
function useFollowing(changes: readonly unknown[]) {
  const box = useRef<HTMLElement>(null);
  const isFollowing = useRef(true);
  const [isAtEnd, setIsAtEnd] = useState(true);
  const follow = (): void => {
    const { scrollHeight = 0, scrollTop = 0, clientHeight = 0 } = box.current ?? {};
    isFollowing.current = scrollHeight - scrollTop - clientHeight < followPixels;
    setIsAtEnd(isFollowing.current);
  };
  const toEnd = (): void => {
    isFollowing.current = true;
    box.current?.scrollTo({ top: box.current.scrollHeight });
  };
  useLayoutEffect(() => {
    if (isFollowing.current) box.current?.scrollTo({ top: box.current.scrollHeight, behavior: "instant" });
  }, changes);
  return { box, isAtEnd, toEnd, follow };
}
