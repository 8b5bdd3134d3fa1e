import { Failed, Loading } from "@hearth-and-keep/page-design";
import type { SecretMetadata, SecretVersion } from "@hearth-and-keep/vault-contract";
import { useState } from "react";
import { Confirm } from "../../design/confirm.tsx";
import { Menu } from "../../design/menu.tsx";
import { Moment } from "../../design/moment.tsx";
import { useToasts } from "../../design/toasts.tsx";
import { ask } from "../../vault-api/api-client.ts";
import { useDoing } from "../../vault-api/use-mutation.ts";
import { secretPath } from "./api-paths.ts";
import { isOfBytes } from "./draft.ts";
import type { SayWho } from "./format-actor.ts";
import { usePages } from "./use-pages.ts";
import { ValueView } from "./value-view.tsx";
import { VersionDiff } from "./version-diff.tsx";

export type HistoryProps = {
  readonly vaultId: string;
  readonly secret: SecretMetadata;
  readonly who: SayWho;
  readonly onChanged: (secret?: SecretMetadata) => void;
};

type Opened = { readonly version: SecretVersion; readonly what: "value" | "diff" | "destroy" };

/** Every version with who and when; an old one can be looked at, compared, brought back or destroyed. */
export function History({ vaultId, secret, who, onChanged }: HistoryProps) {
  const versions = usePages<SecretVersion>(`${secretPath(vaultId, secret.id)}/versions`);
  const [opened, setOpened] = useState<Opened>();
  const { tell } = useToasts();
  const restoring = useDoing();
  const restore = (version: number): void => {
    void restoring.run(async () => {
      const path = `${secretPath(vaultId, secret.id)}/versions/${version}/restore`;
      const { body } = await ask<SecretMetadata>(path, { method: "POST", revision: secret.revision });
      tell(`Version ${version} is back, as version ${body.version}`);
      onChanged(body);
    });
  };
  if (versions.state === "loading") return <Loading lines={3} label="Loading the history" />;
  if (versions.state === "failed")
    return <Failed text={versions.problem?.message ?? ""} onRetry={versions.reload} />;
  return (
    <div className="stack tight">
      {restoring.problem !== undefined && <Failed text={restoring.problem.message} />}
      <ul className="versions">
        {versions.items.map((version) => (
          <VersionRow
            key={version.version}
            {...{ vaultId, secret, version, who }}
            opened={opened?.version.version === version.version ? opened.what : undefined}
            onOpen={(what) => setOpened(what === undefined ? undefined : { version, what })}
            onRestore={() => restore(version.version)}
          />
        ))}
      </ul>
      {versions.hasMore && (
        <button type="button" className="button" onClick={versions.more}>
          Show older versions
        </button>
      )}
      {opened?.what === "destroy" && (
        <DestroyVersion
          {...{ vaultId, secret }}
          version={opened.version.version}
          onClose={() => setOpened(undefined)}
          onDestroyed={() => {
            setOpened(undefined);
            onChanged();
          }}
        />
      )}
    </div>
  );
}

type VersionRowProps = Pick<HistoryProps, "vaultId" | "secret" | "who"> & {
  readonly version: SecretVersion;
  readonly opened: Opened["what"] | undefined;
  readonly onOpen: (what: Opened["what"] | undefined) => void;
  readonly onRestore: () => void;
};

function VersionRow({ vaultId, secret, version, who, opened, onOpen, onRestore }: VersionRowProps) {
  const isCurrent = version.version === secret.version;
  const isGone = version.destroyed_at !== undefined;
  const isText = !isOfBytes(version.type) && !isOfBytes(secret.type);
  const choices = [
    {
      label: opened === "value" ? "Close" : "Look at it",
      onChoose: () => onOpen(opened === "value" ? undefined : "value"),
    },
    ...(isText ? [{ label: "Compare with now", onChoose: () => onOpen("diff") }] : []),
    { label: "Restore", onChoose: onRestore },
    { label: "Destroy…", onChoose: () => onOpen("destroy"), isDangerous: true },
  ];
  const shown = { ...secret, type: version.type, size: version.size };
  return (
    <li className="version">
      <div className="row spread">
        <span>
          <strong>Version {version.version}</strong>
          {isCurrent && <span className="badge good">Now</span>}
          {isGone && <span className="badge">Destroyed</span>}
          <span className="quiet small breaks">
            {who(version.created_by)}, <Moment at={version.created_at} />
          </span>
        </span>
        {!isCurrent && !isGone && <Menu label={`More for version ${version.version}`} choices={choices} />}
      </div>
      {opened === "value" && <ValueView {...{ vaultId }} secret={shown} version={version.version} isQuiet />}
      {opened === "diff" && (
        <VersionDiff {...{ vaultId, secret }} version={version.version} onClose={() => onOpen(undefined)} />
      )}
    </li>
  );
}

type DestroyVersionProps = Pick<HistoryProps, "vaultId" | "secret"> & {
  readonly version: number;
  readonly onDestroyed: () => void;
  readonly onClose: () => void;
};

function DestroyVersion({ vaultId, secret, version, onDestroyed, onClose }: DestroyVersionProps) {
  const doing = useDoing();
  const destroy = async (): Promise<void> => {
    const path = `${secretPath(vaultId, secret.id)}/versions/${version}`;
    await ask(path, { method: "DELETE", revision: secret.revision });
    onDestroyed();
  };
  return (
    <Confirm
      title={`Destroy version ${version}?`}
      action="Destroy"
      doing={doing}
      onConfirm={() => void doing.run(destroy)}
      onClose={onClose}
    >
      The value of this version is erased at once, and nobody can bring it back. That it existed, who made it
      and when stays in the history.
    </Confirm>
  );
}
