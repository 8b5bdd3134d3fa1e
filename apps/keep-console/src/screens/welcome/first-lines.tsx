import { Link, Notice } from "@hearth-and-keep/page-design";
import { CodeBlock } from "../../design/code-block.tsx";
import { ExactMoment } from "../../design/exact-moment.tsx";
import { Tabs } from "../../design/tabs.tsx";
import { useSight } from "../secrets/use-reveal-timer.ts";
import type { IssuedToken } from "../tokens/issued-token.tsx";
import { waysToRead } from "./program-lines.ts";
import { type ProgramRead, useProgramRead } from "./use-program-read.ts";

export type FirstLinesProps = {
  readonly vaultId: string;
  readonly path: string;
  readonly issued: IssuedToken;
};

const hiddenToken = `sk-svc-${"•".repeat(12)}`;

/** The lines for a program, with everything in them, and whether it has read the secret. */
export function FirstLines({ vaultId, path, issued }: FirstLinesProps) {
  const sight = useSight(true);
  const read = useProgramRead({ vaultId, tokenId: issued.id });
  const isSeen = sight.secondsLeft !== undefined;
  const reading = { origin: window.location.origin, vaultId, path };
  const copied = waysToRead({ ...reading, token: issued.value });
  const shown = isSeen ? copied : waysToRead({ ...reading, token: hiddenToken });
  const tabs = shown.map(({ id, label, intent, lines }, way) => ({
    id,
    label,
    content: (
      <div className="stack">
        <p className="breaks">{intent}</p>
        {lines.map((block, line) => (
          <CodeBlock
            key={block.label}
            label={block.label}
            shown={block.text}
            copied={copied[way]?.lines[line]?.text ?? block.text}
          />
        ))}
      </div>
    ),
  }));
  return (
    <>
      <Tabs label="Ways to read it" tabs={tabs} />
      <div className="token-sight">
        <span className="quiet small">
          The token is on this page until you leave it, and cannot be shown again afterwards.
          {!isSeen && " It is hidden now; Copy takes it along all the same."}
        </span>
        {isSeen ? (
          <button type="button" className="button" onClick={sight.hide}>
            Hide the token
          </button>
        ) : (
          <button type="button" className="button" onClick={sight.show}>
            Show the token
          </button>
        )}
      </div>
      <Waiting read={read} />
    </>
  );
}

function Waiting({ read }: { readonly read: ProgramRead }) {
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
            Your program has not read it yet.
            <button type="button" className="button" onClick={read.again}>
              Look again
            </button>
          </span>
        </Notice>
      )}
      {read.state === "read" && (
        <div className="stack">
          <Notice kind="good">
            <strong>Your program read it</strong>, from {read.address}, <ExactMoment at={read.at} />.
          </Notice>
          <div className="row">
            <Link className="button main" to="/secrets">
              Go to your secrets
            </Link>
            <Link className="button" to="/secrets/tokens">
              See the token
            </Link>
          </div>
        </div>
      )}
    </div>
  );
}
