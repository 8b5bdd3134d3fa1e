/**
 * @module
 * Audit: who did what, when, in each vault and in the account, in plain sentences. The whole log can be exported, and
 * checked right here in the browser, so that nobody has to believe the server that shows it.
 * Shown by `screens.tsx`.
 */
import { Failed, go, Loading, useAddress } from "@hearth-and-keep/page-design";
import type { Session, Vault } from "@hearth-and-keep/vault-contract";
import { useMemo } from "react";
import { SelectField } from "../../design/field.tsx";
import { DownloadIcon } from "../../design/icons.tsx";
import { useAnswer } from "../../vault-api/use-query.ts";
import { useTokenNames } from "../../vault-api/use-token-names.ts";
import { AuditChart } from "./audit-chart.tsx";
import { AuditEvents } from "./audit-events.tsx";
import { logPath } from "./audit-log.ts";
import type { LogPlace } from "./audit-record.ts";
import { groupOf, groupsOf } from "./event-groups.ts";
import type { Names } from "./event-sentences.ts";
import { useVerifying, VerifyPanel } from "./verify-panel.tsx";

export default function AuditScreen({ session }: { readonly session: Session }) {
  const { query } = useAddress();
  const vaults = useAnswer<readonly Vault[]>("/api/secrets/vaults?limit=200");
  if (vaults.state === "loading") return <Loading lines={8} />;
  if (vaults.state === "failed") {
    return (
      <div className="stack">
        <h1>Audit</h1>
        <Failed text={vaults.problem.message} onRetry={vaults.reload} />
      </div>
    );
  }
  const place = query.get("vault") ?? vaults.body[0]?.id ?? "account";
  return <Log key={place} place={place} vaults={vaults.body} session={session} />;
}

type LogProps = {
  readonly session: Session;
  readonly place: LogPlace;
  readonly vaults: readonly Vault[];
};

function Log({ place, vaults, session }: LogProps) {
  const { query } = useAddress();
  const group = groupOf(place, query.get("show"));
  const names = useNames(session, vaults);
  const { verifying, verify } = useVerifying(place);
  return (
    <div className="stack">
      <div className="screen-head audit-head">
        <div>
          <h1>Audit</h1>
          <p className="quiet">
            Who did what, and when. Verify checks in your browser that nobody changed it.
          </p>
        </div>
        <div className="row">
          <a className="button" href={`${logPath(place)}/export`} download={`keep-audit-${place}.ndjson`}>
            <DownloadIcon />
            Export
          </a>
          <button
            type="button"
            className="button main"
            aria-disabled={verifying.state === "checking"}
            onClick={verify}
          >
            {verifying.state === "checking" ? "Checking…" : "Verify"}
          </button>
        </div>
      </div>
      <VerifyPanel verifying={verifying} onRetry={verify} />
      <AuditChart place={place} />
      <div className="audit-filters">
        <SelectField
          label="Log"
          value={place}
          choices={logChoices(place, vaults)}
          onChoose={(chosen) => go(`/audit?vault=${encodeURIComponent(chosen)}`, { replaces: true })}
        />
        <SelectField
          label="Show"
          value={group.id}
          choices={groupsOf(place).map(({ id, title }) => ({ value: id, label: title }))}
          onChoose={(chosen) =>
            go(`/audit?vault=${encodeURIComponent(place)}&show=${chosen}`, { replaces: true })
          }
        />
      </div>
      <AuditEvents key={group.id} place={place} group={group} names={names} />
    </div>
  );
}

function logChoices(place: LogPlace, vaults: readonly Vault[]) {
  const isKnown = place === "account" || vaults.some(({ id }) => id === place);
  return [
    ...vaults.map(({ id, name }) => ({ value: id, label: `Vault: ${name}` })),
    { value: "account", label: "Account: sign-ins, tokens, denials" },
    ...(isKnown ? [] : [{ value: place, label: "A vault that is not there" }]),
  ];
}

function useNames(session: Session, vaults: readonly Vault[]): Names {
  const tokens = useTokenNames();
  return useMemo(() => {
    const vaultNames = new Map(vaults.map(({ id, name }) => [id, name]));
    const providers = new Map<string, string>(session.providers.map(({ kind, name }) => [kind, name]));
    return {
      // An account is one person's: every session is theirs.
      who: (actor) => {
        if (actor.startsWith("session:")) return "You";
        if (actor === "server") return "The server";
        const name = tokens.get(actor.slice("token:".length));
        return name === undefined ? "A token" : `The token “${name}”`;
      },
      token: (id) => tokens.get(id),
      vault: (id) => vaultNames.get(id),
      provider: (kind) => providers.get(kind) ?? kind,
    };
  }, [session, vaults, tokens]);
}
