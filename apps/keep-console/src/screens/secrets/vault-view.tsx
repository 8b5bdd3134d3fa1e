import { AddIcon, Failed, Loading } from "@hearth-and-keep/page-design";
import type { Session, Vault } from "@hearth-and-keep/vault-contract";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { Menu } from "../../design/menu.tsx";
import { type Deed, Deeds } from "./dialogs.tsx";
import { FolderTrail } from "./folder-trail.tsx";
import { type SayWho, useWho } from "./format-actor.ts";
import { NothingHere } from "./nothing-here.tsx";
import { SecretList } from "./secret-list.tsx";
import { SecretPanel } from "./secret-panel.tsx";
import { goTo, type SecretsPlace, usePlace } from "./secrets-location.ts";
import { Toolbar } from "./toolbar.tsx";
import { useChoices, useRestore } from "./use-choices.ts";
import { useShortcuts } from "./use-shortcuts.ts";
import { useVaultContents, type VaultContents } from "./vault-contents.ts";
import { VaultSwitcher } from "./vault-switcher.tsx";

export type VaultViewProps = {
  readonly session: Session;
  readonly vault: Vault;
  readonly vaults: readonly Vault[];
};

export function VaultView({ session, vault, vaults }: VaultViewProps) {
  const place = usePlace();
  const contents = useVaultContents(place);
  const who = useWho();
  const [deed, setDeed] = useState<Deed>();
  const search = useRef<HTMLInputElement>(null);
  const shortcuts = useMemo(
    () => ({ "/": () => search.current?.focus(), n: () => setDeed({ kind: "new-secret" }) }),
    [],
  );
  useShortcuts(shortcuts);
  const restore = useRestore({ place, contents });
  const closePanel = (): void => goTo(place, { secretId: undefined });
  const known = contents.secrets.items.find(({ id }) => id === place.secretId);
  return (
    <>
      <VaultHead {...{ place, vault, vaults }} onDeed={setDeed} />
      <Toolbar place={place} tags={contents.tags} search={search} />
      <FolderTrail place={place} />
      <Contents {...{ contents, vault, who }} onDeed={setDeed} />
      {place.secretId !== undefined && (
        <SecretPanel
          key={place.secretId}
          vaultId={vault.id}
          secretId={place.secretId}
          known={known}
          who={who}
          onChanged={contents.changed}
          onDeed={setDeed}
          onRestore={restore}
          onClose={closePanel}
        />
      )}
      <Deeds {...{ session, place, deed, contents }} vaultId={vault.id} onDeed={setDeed} />
    </>
  );
}

type VaultHeadProps = Pick<VaultViewProps, "vault" | "vaults"> & {
  readonly place: SecretsPlace;
  readonly onDeed: (deed: Deed) => void;
};

function VaultHead({ place, vault, vaults, onDeed }: VaultHeadProps) {
  return (
    <div className="screen-head">
      <h1 className="vault-heading">
        <VaultSwitcher
          vaults={vaults}
          current={vault}
          onNew={() => onDeed({ kind: "new-vault" })}
          onSettings={() => onDeed({ kind: "vault-settings" })}
          onDeleted={() => onDeed({ kind: "deleted-vaults" })}
        />
      </h1>
      <div className="row">
        <Menu
          label="More for this vault"
          choices={[
            { label: "New folder…", onChoose: () => onDeed({ kind: "new-folder", within: place.folder }) },
            { label: "Import…", onChoose: () => onDeed({ kind: "import" }) },
            { label: "Export…", onChoose: () => goTo(place, { isExporting: true }) },
            {
              label: "Recently deleted",
              onChoose: () => goTo(place, { isDeleted: true, text: "", tag: "" }),
            },
          ]}
        />
        <button
          type="button"
          className="button main"
          aria-keyshortcuts="n"
          onClick={() => onDeed({ kind: "new-secret" })}
        >
          <AddIcon />
          New secret
        </button>
      </div>
    </div>
  );
}

type ContentsProps = {
  readonly contents: VaultContents;
  readonly vault: Vault;
  readonly who: SayWho;
  readonly onDeed: (deed: Deed) => void;
};

function Contents({ contents, vault, who, onDeed }: ContentsProps) {
  const place = usePlace();
  const { secrets, entries } = contents;
  const choicesFor = useChoices({ place, contents, onDeed });
  const latest = useRef(place);
  latest.current = place;
  const onTag = useCallback((tag: string) => goTo(latest.current, { tag, text: "" }), []);
  useFolderFocus(place.folder, !contents.isOld);
  if (contents.state === "loading") return <Loading lines={8} label="Loading the secrets" />;
  if (contents.state === "failed") {
    return <Failed text={sayFailed(secrets.problem?.message)} onRetry={() => contents.changed()} />;
  }
  const found = secrets.hasMore ? "More than" : "";
  return (
    <>
      <p className="hidden-to-sight" role="status">
        {contents.isOld ? "" : `${found} ${entries.length} ${entries.length === 1 ? "row" : "rows"}`}
      </p>
      {secrets.problem !== undefined && (
        <Failed text={sayFailed(secrets.problem.message)} onRetry={() => contents.changed()} />
      )}
      {entries.length === 0 ? (
        <NothingHere place={place} onDeed={onDeed} />
      ) : (
        <SecretList
          label={`Secrets of ${vault.name}`}
          entries={entries}
          isOld={contents.isOld}
          hasMore={secrets.hasMore}
          hasPaths={contents.hasPaths}
          isDeleted={place.isDeleted}
          who={who}
          onMore={secrets.more}
          onTag={onTag}
          choicesFor={choicesFor}
        />
      )}
    </>
  );
}

function sayFailed(message: string | undefined): string {
  return `${message ?? "The list could not be read"}. Nothing is lost; try again in a moment.`;
}

/** Who goes into a folder by the keyboard stands on its first row, at the top of the page. */
function useFolderFocus(folder: string, isThere: boolean): void {
  const last = useRef(folder);
  useEffect(() => {
    if (!isThere || last.current === folder) return;
    last.current = folder;
    window.scrollTo(0, 0);
    if (document.activeElement === document.body) {
      document.querySelector<HTMLElement>('[data-index="0"] a')?.focus({ preventScroll: true });
    }
  }, [folder, isThere]);
}
