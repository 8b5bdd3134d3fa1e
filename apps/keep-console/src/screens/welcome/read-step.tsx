import { Link, Notice } from "@hearth-and-keep/page-design";
import { CodeBlock } from "../../design/code-block.tsx";
import { Tabs } from "../../design/tabs.tsx";
import { Timestamp } from "../../design/timestamp.tsx";
import { useRevealTimer } from "../secrets/use-reveal-timer.ts";
import type { IssuedToken } from "../tokens/issued-token.tsx";
import { codeSamples } from "./code-samples.ts";
import { type FirstRead, useFirstRead } from "./use-first-read.ts";

export type ReadStepProps = {
  readonly vaultId: string;
  readonly path: string;
  readonly issued: IssuedToken;
};

const maskedToken = `sk-svc-${"•".repeat(12)}`;

/** Code samples with the URL and token filled in, and a live check whether the token has read the secret. */
export function ReadStep({ vaultId, path, issued }: ReadStepProps) {
  const timer = useRevealTimer(true);
  const read = useFirstRead({ vaultId, tokenId: issued.id });
  const isRevealed = timer.secondsLeft !== undefined;
  const options = { origin: window.location.origin, vaultId, path };
  const samples = codeSamples({ ...options, token: issued.value });
  const shownSamples = isRevealed ? samples : codeSamples({ ...options, token: maskedToken });
  const tabs = shownSamples.map(({ id, label, description, snippets }, sampleIndex) => ({
    id,
    label,
    content: (
      <div className="stack">
        <p className="break-words">{description}</p>
        {snippets.map((snippet, index) => (
          <CodeBlock
            key={snippet.label}
            label={snippet.label}
            text={snippet.text}
            copiedText={samples[sampleIndex]?.snippets[index]?.text ?? snippet.text}
          />
        ))}
      </div>
    ),
  }));
  return (
    <>
      <Tabs label="Code samples" tabs={tabs} />
      <div className="token-visibility">
        <span className="muted small">
          The token is available until you leave this page and cannot be shown again.
          {!isRevealed && " It is hidden now; Copy still includes it."}
        </span>
        {isRevealed ? (
          <button type="button" className="button" onClick={timer.hide}>
            Hide token
          </button>
        ) : (
          <button type="button" className="button" onClick={timer.show}>
            Show token
          </button>
        )}
      </div>
      <ReadStatus read={read} />
    </>
  );
}

function ReadStatus({ read }: { readonly read: FirstRead }) {
  return (
    <div className="waiting" aria-live="polite">
      {read.state === "waiting" && !read.isPaused && (
        <Notice>
          <span className="waiting-line">Waiting for your program…</span>
        </Notice>
      )}
      {read.state === "waiting" && read.isPaused && (
        <Notice>
          <span className="row">
            No read detected yet.
            <button type="button" className="button" onClick={read.resume}>
              Check again
            </button>
          </span>
        </Notice>
      )}
      {read.state === "read" && (
        <div className="stack">
          <Notice kind="success">
            <strong>Your program read the secret</strong> from {read.address}, <Timestamp at={read.at} />.
          </Notice>
          <div className="row">
            <Link className="button primary" to="/secrets">
              Go to secrets
            </Link>
            <Link className="button" to="/secrets/tokens">
              View token
            </Link>
          </div>
        </div>
      )}
    </div>
  );
}
