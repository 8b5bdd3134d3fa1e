import { CopyButton, Notice } from "@hearth-and-keep/page-design";
import { AgainIcon } from "../../design/icons.tsx";
import type { LiveAnswer } from "../../state/answering.ts";
import type { AnswerTurn, Ending, Figures } from "../../state/conversation.ts";
import { Markdown } from "./markdown/markdown.tsx";

const endingWords: Readonly<Record<Ending, string>> = {
  done: "",
  length: "It reached its limit of tokens; ask it to go on, or raise the limit under Parameters.",
  stopped: "Stopped.",
  cut: "",
  failed: "",
};

export type AnswerViewProps = { readonly turn: AnswerTurn; readonly onAgain?: () => void };

export function AnswerView({ turn, onAgain }: AnswerViewProps) {
  const { text, thinking, model, ending, problem, figures } = turn;
  return (
    <article className="turn answer" aria-label={model}>
      <Thinking text={thinking} isUnderWay={false} />
      {text !== "" && <Markdown text={text} />}
      {endingWords[ending] !== "" && <p className="quiet small">{endingWords[ending]}</p>}
      {problem !== undefined && (
        <Notice kind="bad">
          <div className="stack tight">
            <strong>{problem.sentence}</strong>
            {problem.nextStep !== "" && <span>{problem.nextStep}</span>}
          </div>
        </Notice>
      )}
      <div className="turn-deeds">
        {text !== "" && (
          <CopyButton text={text} label="Copy this answer" isSmall>
            Copy
          </CopyButton>
        )}
        {onAgain !== undefined && <AgainButton onPress={onAgain} />}
        <span className="quiet small one-line figures">{figuresInWords(model, figures)}</span>
      </div>
    </article>
  );
}

/** After a question whose answer never began, as when the page was closed too soon. */
export function NoAnswer({ onAgain }: { readonly onAgain: () => void }) {
  return (
    <div className="turn answer">
      <p className="quiet small">This question has no answer.</p>
      <div className="turn-deeds">
        <AgainButton onPress={onAgain} />
      </div>
    </div>
  );
}

function AgainButton({ onPress }: { readonly onPress: () => void }) {
  return (
    <button type="button" className="button small bare" onClick={onPress}>
      <AgainIcon />
      Regenerate
    </button>
  );
}

function figuresInWords(model: string, figures: Figures | undefined): string {
  if (figures === undefined) return model;
  const { tokens, tokensPerSecond, firstTokenSeconds } = figures;
  const speed = tokensPerSecond > 0 ? [`${tokensPerSecond.toFixed(1)} tokens/s`] : [];
  return [model, `${tokens} tokens`, ...speed, `first after ${firstTokenSeconds.toFixed(1)} s`].join(" · ");
}

/** While it comes. */
export function GrowingAnswer({ live, model }: { readonly live: LiveAnswer; readonly model: string }) {
  const { text, thinking, isBegun } = live;
  return (
    <article className="turn answer" aria-label={model} aria-busy="true">
      <Thinking text={thinking} isUnderWay={text === ""} />
      {text !== "" && <Markdown text={text} isGrowing />}
      {!isBegun && (
        <p className="waiting quiet">
          <span className="dots" aria-hidden="true">
            <i />
            <i />
            <i />
          </span>
          Reading your question; a model that is not in memory is loaded first
        </p>
      )}
    </article>
  );
}

/** What a model says to itself is folded; whoever wants to reads it. */
function Thinking({ text, isUnderWay }: { readonly text: string; readonly isUnderWay: boolean }) {
  if (text === "") return null;
  return (
    <details className="thinking">
      <summary>{isUnderWay ? "Thinking…" : `Thought for ${countWords(text)} words`}</summary>
      <Markdown text={text} isGrowing={isUnderWay} />
    </details>
  );
}

function countWords(text: string): string {
  return text.trim().split(/\s+/u).length.toLocaleString("en");
}
