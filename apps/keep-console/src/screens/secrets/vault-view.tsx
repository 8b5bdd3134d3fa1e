import { AddIcon, ErrorNotice, Loading } from "@hearth-and-keep/page-design";
import type { Session, Vault } from "@hearth-and-keep/vault-contract";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { ActionMenu } from "../../design/menu.tsx";
import { Breadcrumbs } from "./breadcrumbs.tsx";
import { Dialogs, type OpenDialog } from "./dialogs.tsx";
import { EmptyList } from "./empty-list.tsx";
import { type FormatActor, useFormatActor } from "./format-actor.ts";
import { SecretList } from "./secret-list.tsx";
import { SecretPanel } from "./secret-panel.tsx";
import { navigateTo, type SecretsLocation, useSecretsLocation } from "./secrets-location.ts";
import { Toolbar } from "./toolbar.tsx";
import { useRestoreSecret, useRowActions } from "./use-row-actions.ts";
import { useShortcuts } from "./use-shortcuts.ts";
import { useVaultContents, type VaultContents } from "./vault-contents.ts";
import { VaultSwitcher } from "./vault-switcher.tsx";

export type VaultViewProps = {
  readonly session: Session;
  readonly vault: Vault;
  readonly vaults: readonly Vault[];
};

export function VaultView({ session, vault, vaults }: VaultViewProps) {
  const location = useSecretsLocation();
  const contents = useVaultContents(location);
  const formatActor = useFormatActor();
  const [dialog, setDialog] = useState<OpenDialog>();
  const search = useRef<HTMLInputElement>(null);
  const shortcuts = useMemo(
    () => ({ "/": () => search.current?.focus(), n: () => setDialog({ kind: "new-secret" }) }),
    [],
  );
  useShortcuts(shortcuts);
  const restore = useRestoreSecret({ location, contents });
  const closePanel = (): void => navigateTo(location, { secretId: undefined });
  const listed = contents.secrets.items.find(({ id }) => id === location.secretId);
  return (
    <>
      <VaultHeader {...{ location, vault, vaults }} onOpenDialog={setDialog} />
      <Toolbar location={location} tags={contents.tags} search={search} />
      <Breadcrumbs location={location} />
      <Contents {...{ contents, vault, formatActor }} onOpenDialog={setDialog} />
      {location.secretId !== undefined && (
        <SecretPanel
          key={location.secretId}
          vaultId={vault.id}
          secretId={location.secretId}
          listed={listed}
          formatActor={formatActor}
          onChanged={contents.refresh}
          onOpenDialog={setDialog}
          onRestore={restore}
          onClose={closePanel}
        />
      )}
      <Dialogs {...{ session, location, dialog, contents }} vaultId={vault.id} onOpenDialog={setDialog} />
    </>
  );
}

type VaultHeaderProps = Pick<VaultViewProps, "vault" | "vaults"> & {
  readonly location: SecretsLocation;
  readonly onOpenDialog: (dialog: OpenDialog) => void;
};

function VaultHeader({ location, vault, vaults, onOpenDialog }: VaultHeaderProps) {
  return (
    <div className="screen-header">
      <h1 className="vault-heading">
        <VaultSwitcher
          vaults={vaults}
          current={vault}
          onNew={() => onOpenDialog({ kind: "new-vault" })}
          onSettings={() => onOpenDialog({ kind: "vault-settings" })}
          onDeleted={() => onOpenDialog({ kind: "deleted-vaults" })}
        />
      </h1>
      <div className="row">
        <ActionMenu
          label="More vault actions"
          actions={[
            {
              label: "New folder…",
              onSelect: () => onOpenDialog({ kind: "new-folder", parent: location.folder }),
            },
            { label: "Import…", onSelect: () => onOpenDialog({ kind: "import" }) },
            { label: "Export…", onSelect: () => navigateTo(location, { isExporting: true }) },
            {
              label: "Recently deleted",
              onSelect: () => navigateTo(location, { isDeleted: true, search: "", tag: "" }),
            },
          ]}
        />
        <button
          type="button"
          className="button primary"
          aria-keyshortcuts="n"
          onClick={() => onOpenDialog({ kind: "new-secret" })}
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
  readonly formatActor: FormatActor;
  readonly onOpenDialog: (dialog: OpenDialog) => void;
};

function Contents({ contents, vault, formatActor, onOpenDialog }: ContentsProps) {
  const location = useSecretsLocation();
  const { secrets, entries } = contents;
  const actionsFor = useRowActions({ location, contents, onOpenDialog });
  const latest = useRef(location);
  latest.current = location;
  const onTag = useCallback((tag: string) => navigateTo(latest.current, { tag, search: "" }), []);
  useFolderFocus(location.folder, !contents.isStale);
  if (contents.state === "loading") return <Loading lines={8} label="Loading secrets" />;
  if (contents.state === "failed") {
    return <ErrorNotice text={describeError(secrets.error?.message)} onRetry={() => contents.refresh()} />;
  }
  const qualifier = secrets.hasMore ? "More than" : "";
  return (
    <>
      <p className="visually-hidden" role="status">
        {contents.isStale ? "" : `${qualifier} ${entries.length} ${entries.length === 1 ? "row" : "rows"}`}
      </p>
      {secrets.error !== undefined && (
        <ErrorNotice text={describeError(secrets.error.message)} onRetry={() => contents.refresh()} />
      )}
      {entries.length === 0 ? (
        <EmptyList location={location} onOpenDialog={onOpenDialog} />
      ) : (
        <SecretList
          label={`Secrets in ${vault.name}`}
          entries={entries}
          isStale={contents.isStale}
          hasMore={secrets.hasMore}
          showsPaths={contents.showsPaths}
          isDeleted={location.isDeleted}
          formatActor={formatActor}
          onMore={secrets.loadMore}
          onTag={onTag}
          actionsFor={actionsFor}
        />
      )}
    </>
  );
}

function describeError(message: string | undefined): string {
  return `${message ?? "Cannot load the list"}. Try again in a moment.`;
}

/** After navigating into a folder, scrolls to the top and, for keyboard users, focuses the first row. */
function useFolderFocus(folder: string, isLoaded: boolean): void {
  const last = useRef(folder);
  useEffect(() => {
    if (!isLoaded || last.current === folder) return;
    last.current = folder;
    window.scrollTo(0, 0);
    if (document.activeElement === document.body) {
      document.querySelector<HTMLElement>('[data-index="0"] a')?.focus({ preventScroll: true });
    }
  }, [folder, isLoaded]);
}
