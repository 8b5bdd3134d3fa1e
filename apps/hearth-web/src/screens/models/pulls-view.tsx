import { useState } from "react";
import { FailedRequest } from "../../design/failed-request.tsx";
import { bytesInWords } from "../../design/format-bytes.ts";
import { cancelPull, forgetPull, type Layer, type Pull, pulls, startPull } from "../../state/pulls.ts";
import { useStore } from "../../state/store.ts";

export function PullForm() {
  const [name, setName] = useState("");
  const [isPlain, setIsPlain] = useState(false);
  return (
    <form
      className="pull-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (name.trim() === "") return;
        void startPull(name.trim(), isPlain);
        setName("");
      }}
    >
      <div className="field grow">
        <label htmlFor="pull-name">Pull a model</label>
        <input
          id="pull-name"
          className="input"
          value={name}
          maxLength={1024}
          spellCheck={false}
          autoCapitalize="none"
          autoComplete="off"
          placeholder="smollm2:135m, or hf.co/team/model:Q4_K_M"
          onChange={(event) => setName(event.currentTarget.value)}
        />
      </div>
      <button type="submit" className="button main" disabled={name.trim() === ""}>
        Pull
      </button>
      {/* Only a registry of one's own is spoken to without TLS. */}
      <label className="check small">
        <input
          type="checkbox"
          checked={isPlain}
          onChange={(event) => setIsPlain(event.currentTarget.checked)}
        />
        Plain HTTP, for a registry of your own
      </label>
    </form>
  );
}

export function PullList() {
  const all = useStore(pulls);
  if (all.size === 0) return null;
  return (
    <ul className="stack tight" aria-label="Downloads">
      {[...all.values()].map((pull) => (
        <PullCard key={pull.name} pull={pull} />
      ))}
    </ul>
  );
}

const stateWords: Readonly<Record<Pull["state"], string>> = {
  running: "",
  done: "Complete",
  failed: "Failed",
  cancelled: "Cancelled; pull it again to go on where it ended",
};

function PullCard({ pull }: { readonly pull: Pull }) {
  const { name, state, problem, isPlain } = pull;
  return (
    <li className="card padded stack tight">
      <div className="row spread">
        <strong className="breaks">{name}</strong>
        {state === "running" ? (
          <button
            type="button"
            className="button small"
            aria-label={`Cancel the pull of ${name}`}
            onClick={() => cancelPull(name)}
          >
            Cancel
          </button>
        ) : (
          <div className="row">
            {state !== "done" && (
              <button
                type="button"
                className="button small"
                aria-label={`Pull again: ${name}`}
                onClick={() => void startPull(name, isPlain)}
              >
                Pull again
              </button>
            )}
            <button
              type="button"
              className="button small bare"
              aria-label={`Close the pull of ${name}`}
              onClick={() => forgetPull(name)}
            >
              Close
            </button>
          </div>
        )}
      </div>
      <p className="quiet small" role="status">
        {state === "running" ? progressWords(pull) : stateWords[state]}
      </p>
      {state === "running" && pull.layers.map((layer) => <LayerBar key={layer.digest} layer={layer} />)}
      {problem !== undefined && <FailedRequest problem={problem} />}
    </li>
  );
}

/** Rounded, so that a screen reader is not told every byte. */
function progressWords({ layers, status, bytesPerSecond }: Pull): string {
  const total = layers.reduce((sum, layer) => sum + layer.total, 0);
  const completed = layers.reduce((sum, layer) => sum + layer.completed, 0);
  if (total === 0) return status === "" ? "Beginning" : status;
  if (completed >= total) return status;
  const share = `${Math.floor((completed / total) * 10) * 10} % of ${bytesInWords(total)}`;
  const seconds = bytesPerSecond > 0 ? (total - completed) / bytesPerSecond : Number.NaN;
  return [share, ...(Number.isFinite(seconds) ? [timeLeft(seconds)] : [])].join(", ");
}

function timeLeft(seconds: number): string {
  if (seconds < 60) return "less than a minute left";
  const minutes = Math.round(seconds / 60);
  return minutes < 90 ? `about ${minutes} min left` : `about ${Math.round(minutes / 60)} hours left`;
}

function LayerBar({ layer: { digest, total, completed } }: { readonly layer: Layer }) {
  const name = digest.replace("sha256:", "").slice(0, 12);
  return (
    <div className="layer small">
      <code>{name}</code>
      <progress max={total} value={completed} aria-label={`Layer ${name}`} />
      <span className="quiet">
        {bytesInWords(completed)} of {bytesInWords(total)}
      </span>
    </div>
  );
}
