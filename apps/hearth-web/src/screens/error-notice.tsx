import { Notice } from "@hearth-and-keep/page-design";
import { navigate } from "../router/router.tsx";
import { formatSuggestion, type Suggestion } from "../server-api/suggestion.ts";
import { keyRole } from "../state/key-role.ts";
import { startPull } from "../state/pulls.ts";
import { useStore } from "../state/store.ts";

export type RequestErrorNoticeProps = {
  readonly error: { readonly message: string; readonly suggestion?: Suggestion | undefined };
  readonly onRetry?: () => void;
  /** False where the surrounding list controls its own scroll position. */
  readonly scrollsIntoView?: boolean;
};

/** A failed request: the server's message, the next step, and a button for it where the page and its key can do it. */
export function RequestErrorNotice({ error, onRetry, scrollsIntoView = true }: RequestErrorNoticeProps) {
  const { suggestion } = error;
  const role = useStore(keyRole);
  const message = capitalize(error.message);
  const model = role === "admin" && suggestion?.action === "pull-model" ? suggestion.model : undefined;
  return (
    <Notice kind="error">
      <div className="stack tight" ref={scrollsIntoView ? scrollIntoView : undefined}>
        {suggestion === undefined ? <span>{message}</span> : <strong>{message}</strong>}
        {suggestion !== undefined && <span>{formatSuggestion(suggestion, role)}</span>}
        {(model !== undefined || onRetry !== undefined) && (
          <div className="row">
            {model !== undefined && (
              <button type="button" className="button" onClick={() => pull(model)}>
                Pull {model}
              </button>
            )}
            {onRetry !== undefined && (
              <button type="button" className="button" onClick={onRetry}>
                Try again
              </button>
            )}
          </div>
        )}
      </div>
    </Notice>
  );
}

/** Messages of the API start in lower case. */
function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** On the Models screen, which shows the progress. */
function pull(model: string): void {
  void startPull(model);
  navigate("models");
}

/** The button that caused the error may be far above the notice. */
function scrollIntoView(element: HTMLElement | null): void {
  element?.scrollIntoView({ block: "nearest" });
}
