import { CopyButton } from "@hearth-and-keep/page-design";
import { RegenerateIcon } from "../../design/icons.tsx";
import type { Ending, ResponseStats, ResponseTurn } from "../../state/conversation.ts";
import type { StreamingResponse } from "../../state/stream-response.ts";
import { RequestErrorNotice } from "../error-notice.tsx";
import { Markdown } from "./markdown/markdown.tsx";

const endingTexts: Readonly<Record<Ending, string>> = {
  done: "",
  length: "Stopped at the token limit. Ask to continue, or raise Max output tokens under Parameters.",
  stopped: "Stopped.",
  cut: "",
  failed: "",
};

export type ResponseViewProps = { readonly turn: ResponseTurn; readonly onRegenerate?: () => void };

export function ResponseView({ turn, onRegenerate }: ResponseViewProps) {
  const { text, thinking, thinkingSeconds, model, ending, error, stats } = turn;
  return (
    <article className="turn response" aria-label={model}>
      <Thinking text={thinking} seconds={thinkingSeconds} />
      {text !== "" && <Markdown text={text} />}
      {endingTexts[ending] !== "" && <p className="muted small">{endingTexts[ending]}</p>}
      {error !== undefined && <RequestErrorNotice error={error} scrollsIntoView={false} />}
      <div className="turn-actions">
        {text !== "" && (
          <CopyButton text={text} label="Copy response" isSmall>
            Copy
          </CopyButton>
        )}
        {onRegenerate !== undefined && <RegenerateButton onPress={onRegenerate} />}
        <span className="muted small truncate response-stats">{formatStats(model, stats)}</span>
      </div>
    </article>
  );
}

/** Below a message whose response never started, e.g. because the page was closed. */
export function MissingResponse({ onRegenerate }: { readonly onRegenerate: () => void }) {
  return (
    <div className="turn response">
      <p className="muted small">No response yet.</p>
      <div className="turn-actions">
        <RegenerateButton onPress={onRegenerate} />
      </div>
    </div>
  );
}

function RegenerateButton({ onPress }: { readonly onPress: () => void }) {
  return (
    <button type="button" className="button small ghost" onClick={onPress}>
      <RegenerateIcon />
      Regenerate
    </button>
  );
}

function formatStats(model: string, stats: ResponseStats | undefined): string {
  if (stats === undefined) return model;
  const { tokens, tokensPerSecond, firstTokenSeconds } = stats;
  const speed = tokensPerSecond > 0 ? [`${tokensPerSecond.toFixed(1)} tokens/s`] : [];
  return [model, `${tokens} tokens`, ...speed, `first token after ${firstTokenSeconds.toFixed(1)} s`].join(
    " · ",
  );
}

type StreamingResponseViewProps = { readonly response: StreamingResponse; readonly model: string };

export function StreamingResponseView({ response, model }: StreamingResponseViewProps) {
  const { text, thinking, hasStarted } = response;
  return (
    <article className="turn response" aria-label={model} aria-busy="true">
      <Thinking text={thinking} isActive={text === ""} />
      {text !== "" && <Markdown text={text} isStreaming />}
      {!hasStarted && (
        <p className="waiting muted">
          <span className="dots" aria-hidden="true">
            <i />
            <i />
            <i />
          </span>
          {describeWaiting(response)}
        </p>
      )}
    </article>
  );
}

function describeWaiting({ loadPercent, queuePosition }: StreamingResponse): string {
  if (queuePosition !== undefined) return `Waiting: ${queuePosition}`;
  return loadPercent === undefined || loadPercent === 100
    ? "Waiting for the first token; loading a model can take a while"
    : `Loading model, ${loadPercent} %`;
}

type ThinkingProps = {
  readonly text: string;
  readonly seconds?: number | undefined;
  readonly isActive?: boolean;
};

function Thinking({ text, seconds, isActive = false }: ThinkingProps) {
  if (text === "") return null;
  return (
    <details className="thinking">
      <summary>{isActive ? "Thinking…" : formatThinkingTime(seconds)}</summary>
      <Markdown text={text} isStreaming={isActive} />
    </details>
  );
}

/** Unknown while the response is still being streamed. */
function formatThinkingTime(seconds: number | undefined): string {
  if (seconds === undefined) return "Thoughts";
  return seconds < 1 ? "Thought for less than 1 s" : `Thought for ${Math.round(seconds)} s`;
}
