import { useState } from "react";
import { formatBytes } from "../../design/format-bytes.ts";
import { dismissPull, type Layer, type Pull, pausePull, pulls, startPull } from "../../state/pulls.ts";
import { useStore } from "../../state/store.ts";
import { RequestErrorNotice } from "../error-notice.tsx";

export function PullForm() {
  const [name, setName] = useState("");
  const [isInsecure, setIsInsecure] = useState(false);
  return (
    <form
      className="pull-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (name.trim() === "") return;
        void startPull(name.trim(), isInsecure);
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
          placeholder="e.g. smollm2:135m or hf.co/team/model:Q4_K_M"
          onChange={(event) => setName(event.currentTarget.value)}
        />
      </div>
      <button type="submit" className="button primary" disabled={name.trim() === ""}>
        Pull
      </button>
      <label className="check small">
        <input
          type="checkbox"
          checked={isInsecure}
          onChange={(event) => setIsInsecure(event.currentTarget.checked)}
        />
        Plain HTTP (for private registries)
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

const stateTexts: Readonly<Record<Exclude<Pull["state"], "running">, string>> = {
  done: "Complete",
  failed: "Failed",
  paused: "Paused",
};

function PullCard({ pull }: { readonly pull: Pull }) {
  const { name, state, error } = pull;
  return (
    <li className="card padded stack tight">
      <div className="row spread">
        <strong className="break-words">{name}</strong>
        <PullActions pull={pull} />
      </div>
      {state === "running" ? (
        <>
          <p className="muted small" aria-hidden="true">
            {formatProgress(pull, 1)}
          </p>
          {/* Coarser, so that screen readers do not announce every percent. */}
          <p className="visually-hidden" role="status">
            {formatProgress(pull, 10)}
          </p>
          {pull.layers.map((layer) => (
            <LayerBar key={layer.digest} layer={layer} />
          ))}
        </>
      ) : (
        <p className="muted small" role="status">
          {stateTexts[state]}
        </p>
      )}
      {error !== undefined && <RequestErrorNotice error={error} />}
    </li>
  );
}

function PullActions({ pull: { name, state, isInsecure } }: { readonly pull: Pull }) {
  if (state === "running") {
    return (
      <button
        type="button"
        className="button small"
        aria-label={`Pause ${name}`}
        onClick={() => pausePull(name)}
      >
        Pause
      </button>
    );
  }
  const resume = state === "paused" ? "Resume" : "Try again";
  return (
    <div className="row">
      {state !== "done" && (
        <button
          type="button"
          className="button small"
          aria-label={`${resume}: ${name}`}
          onClick={() => void startPull(name, isInsecure)}
        >
          {resume}
        </button>
      )}
      <button
        type="button"
        className="button small ghost"
        aria-label={`Dismiss ${name}`}
        onClick={() => dismissPull(name)}
      >
        Dismiss
      </button>
    </div>
  );
}

/** The percentage is rounded down to a multiple of `step`. */
function formatProgress({ layers, status, bytesPerSecond }: Pull, step: number): string {
  const total = layers.reduce((sum, layer) => sum + layer.total, 0);
  const completed = layers.reduce((sum, layer) => sum + layer.completed, 0);
  if (total === 0) return status === "" ? "Starting" : status;
  if (completed >= total) return status;
  const percent = Math.floor((completed / total) * (100 / step)) * step;
  const seconds = bytesPerSecond > 0 ? (total - completed) / bytesPerSecond : Number.NaN;
  return [
    `${percent}% of ${formatBytes(total)}`,
    ...(Number.isFinite(seconds) ? [formatRemaining(seconds)] : []),
  ].join(", ");
}

function formatRemaining(seconds: number): string {
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
      <span className="muted">
        {formatBytes(completed)} of {formatBytes(total)}
      </span>
    </div>
  );
}
