import type { Session, SessionList } from "@hearth-and-keep/vault-contract";
import { useState } from "react";
import { Confirm } from "../../design/confirm.tsx";
import { ExactMoment } from "../../design/exact-moment.tsx";
import { BrowserIcon } from "../../design/icons.tsx";
import { useToasts } from "../../design/toasts.tsx";
import { signOut } from "../../shell/session.ts";
import { ask } from "../../vault-api/api-client.ts";
import { useDoing } from "../../vault-api/use-mutation.ts";
import { changed } from "../../vault-api/use-query.ts";
import { sayBrowser } from "./browser-words.ts";
import { type Identity, providerName } from "./providers.tsx";

type Listed = SessionList["items"][number];

export type SessionsProps = {
  readonly session: Session;
  readonly sessions: readonly Listed[];
  readonly identities: readonly Identity[];
};

export function Sessions({ session, sessions, identities }: SessionsProps) {
  const [asked, setAsked] = useState<Listed | "others">();
  const others = sessions.filter(({ is_current }) => !is_current);
  const current = sessions.filter(({ is_current }) => is_current);
  const wayOf = ({ identity_id }: Listed): string | undefined => {
    const identity = identities.find(({ id }) => id === identity_id);
    return identity === undefined ? undefined : providerName(session, identity.provider);
  };
  return (
    <section className="card" aria-labelledby="sessions">
      <div className="account-head">
        <div>
          <h2 id="sessions">Where you are signed in</h2>
          <p className="quiet small">End what you do not recognise.</p>
        </div>
        {others.length > 0 && (
          <button type="button" className="button" onClick={() => setAsked("others")}>
            End all others
          </button>
        )}
      </div>
      <ul className="account-rows" aria-labelledby="sessions">
        {[...current, ...others].map((listed) => (
          <SessionRow key={listed.id} listed={listed} way={wayOf(listed)} onEnd={() => setAsked(listed)} />
        ))}
      </ul>
      {asked !== undefined && (
        <EndSessions asked={asked} count={others.length} onClose={() => setAsked(undefined)} />
      )}
    </section>
  );
}

type SessionRowProps = {
  readonly listed: Listed;
  readonly way: string | undefined;
  readonly onEnd: () => void;
};

function SessionRow({ listed, way, onEnd }: SessionRowProps) {
  const browser = sayBrowser(listed.user_agent);
  return (
    <li>
      <BrowserIcon />
      <div className="account-row-words">
        <div className="row">
          <strong>{browser}</strong>
          {listed.is_current && <span className="badge good">This one</span>}
        </div>
        <span className="breaks">
          From <span className="fixed">{listed.address}</span>
          {way !== undefined && ` with ${way}`}
        </span>
        <span className="quiet small">
          Signed in <ExactMoment at={listed.created_at} />, last seen <ExactMoment at={listed.last_seen_at} />
        </span>
      </div>
      {listed.is_current ? (
        <button type="button" className="button" onClick={() => void signOut()}>
          Sign out
        </button>
      ) : (
        <button
          type="button"
          className="button"
          aria-label={`End ${browser} from ${listed.address}`}
          onClick={onEnd}
        >
          End
        </button>
      )}
    </li>
  );
}

type EndSessionsProps = {
  readonly asked: Listed | "others";
  readonly count: number;
  readonly onClose: () => void;
};

function EndSessions({ asked, count, onClose }: EndSessionsProps) {
  const { tell } = useToasts();
  const doing = useDoing();
  const isAll = asked === "others";
  const end = (): void =>
    void doing.run(async () => {
      await ask(`/api/account/sessions${isAll ? "" : `/${asked.id}`}`, { method: "DELETE" });
      changed("/api/account/sessions");
      onClose();
      tell(isAll ? "Every other session has ended" : "The session has ended");
    });
  return (
    <Confirm
      title={isAll ? "End all other sessions?" : `End the session of ${sayBrowser(asked.user_agent)}?`}
      action={isAll ? "End all others" : "End"}
      doing={doing}
      onConfirm={end}
      onClose={onClose}
    >
      {isAll
        ? `${count === 1 ? "One browser is" : `${count} browsers are`} signed out at once. Tokens of programs go on working.`
        : `The browser at ${asked.address} is signed out at once. Tokens of programs go on working.`}
    </Confirm>
  );
}
