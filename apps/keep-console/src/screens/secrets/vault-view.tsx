import { ErrorNotice, Link, Loading } from "@hearth-and-keep/page-design";
import type { Session, Vault } from "@hearth-and-keep/vault-contract";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { EmptyState } from "../../design/empty-state.tsx";
import { loadLater } from "../../design/load-later.tsx";
import { useShortcuts } from "../../design/use-shortcuts.ts";
import { Dialogs, type OpenDialog } from "./dialogs.tsx";
import { EmptyList } from "./empty-list.tsx";
import { type FormatActor, useFormatActor } from "./format-actor.ts";
import { ListTools } from "./list-tools.tsx";
import { OrganisationLine } from "./organisation-line.tsx";
import { SecretList } from "./secret-list.tsx";
import { SecretPanel } from "./secret-panel.tsx";
import { navigateTo, type SecretsLocation, useSecretsLocation } from "./secrets-location.ts";
import { SelectionBar } from "./selection-bar.tsx";
import { Toolbar } from "./toolbar.tsx";
import { type ListValues, useListValues } from "./use-list-values.ts";
import { useRestoreSecret, useRowActions } from "./use-row-actions.ts";
import { useSelection } from "./use-selection.ts";
import { ValuesToggle } from "./values-toggle.tsx";
import { useAccess } from "./vault-access.ts";
import { useVaultContents, type VaultContents } from "./vault-contents.ts";
import { VaultHeader } from "./vault-header.tsx";

const ChangesView = loadLater(() => import("../approvals/changes-view.tsx"));
const EnvironmentsView = loadLater(() => import("../environments/environments-view.tsx"));
const AccessPanel = loadLater(() => import("../sharing/access-panel.tsx"));

export type VaultViewProps = {
  readonly session: Session;
  readonly vault: Vault;
  readonly vaults: readonly Vault[];
};

export function VaultView({ session, vault, vaults }: VaultViewProps) {
  const location = useSecretsLocation();
  const { organisationId, allows } = useAccess();
  const canList = allows("secrets:list");
  const showsList = canList && location.view === "secrets";
  // Without a vault, nothing is loaded.
  const contents = useVaultContents(showsList ? location : { ...location, vaultId: undefined });
  const formatActor = useFormatActor(session, organisationId);
  const [dialog, setDialog] = useState<OpenDialog>();
  return (
    <>
      <VaultHeader {...{ location, vault, vaults }} onOpenDialog={setDialog} />
      <OrganisationLine location={location} />
      {showsList && <SecretsView {...{ location, vault, contents, formatActor }} onOpenDialog={setDialog} />}
      {canList && location.view === "environments" && (
        <EnvironmentsView
          session={session}
          vaultId={vault.id}
          onOpenSettings={() => setDialog({ kind: "vault-settings" })}
        />
      )}
      {canList && location.view === "changes" && (
        <ChangesView {...{ session, vault, location, formatActor }} />
      )}
      {!canList && <NoSecretsShown location={location} />}
      {location.isSharing && organisationId !== undefined && (
        <AccessPanel
          {...{ session, vault, organisationId }}
          onClose={() => navigateTo(location, { isSharing: false })}
        />
      )}
      <Dialogs {...{ session, location, dialog, contents }} vaultId={vault.id} onOpenDialog={setDialog} />
    </>
  );
}

type SecretsViewProps = Omit<ContentsProps, "valueOf"> & { readonly location: SecretsLocation };

function SecretsView({ location, vault, contents, formatActor, onOpenDialog }: SecretsViewProps) {
  const { allows } = useAccess();
  const search = useRef<HTMLInputElement>(null);
  const canWrite = allows("secrets:write");
  const shortcuts = useMemo(
    () => ({
      "/": () => search.current?.focus(),
      ...(canWrite ? { n: () => onOpenDialog({ kind: "new-secret" }) } : {}),
    }),
    [canWrite, onOpenDialog],
  );
  useShortcuts(shortcuts);
  const restore = useRestoreSecret({ location, contents });
  const listValues = useListValues(location, contents.secrets.items);
  return (
    <>
      <Toolbar location={location} tags={contents.tags} search={search} />
      <ListTools location={location}>
        <ValuesToggle listValues={listValues} />
      </ListTools>
      {listValues.error !== undefined && (
        <ErrorNotice text={listValues.error.message} onRetry={() => void listValues.show()} />
      )}
      <Contents {...{ contents, vault, formatActor, onOpenDialog }} valueOf={listValues.valueOf} />
      {location.secretId !== undefined && (
        <SecretPanel
          key={location.secretId}
          vaultId={vault.id}
          secretId={location.secretId}
          listed={contents.secrets.items.find(({ id }) => id === location.secretId)}
          formatActor={formatActor}
          onChanged={contents.refresh}
          onOpenDialog={onOpenDialog}
          onRestore={restore}
          onClose={() => navigateTo(location, { secretId: undefined })}
        />
      )}
    </>
  );
}

/** For owners and auditors of the organisation, whose role lets them manage the vault or read its log only. */
function NoSecretsShown({ location }: { readonly location: SecretsLocation }) {
  const { allows } = useAccess();
  return (
    <EmptyState
      title="This vault is not shared with you"
      action={
        <div className="row">
          {allows("grants:read") && (
            <button
              type="button"
              className="button"
              onClick={() => navigateTo(location, { isSharing: true })}
            >
              See who has access
            </button>
          )}
          {allows("audit:read") && (
            <Link className="button" to={`/audit?vault=${location.vaultId ?? ""}`}>
              Audit log
            </Link>
          )}
        </div>
      }
    >
      {allows("grants:write")
        ? "As an owner of the organisation you decide who has access, but its secrets are shown only to those with whom it is shared. That you share it with yourself is recorded in its audit log."
        : "Auditors read the audit log of each vault, and see secrets only if someone shares the vault with them."}
    </EmptyState>
  );
}

type ContentsProps = {
  readonly contents: VaultContents;
  readonly vault: Vault;
  readonly formatActor: FormatActor;
  readonly valueOf: ListValues["valueOf"];
  readonly onOpenDialog: (dialog: OpenDialog) => void;
};

function Contents({ contents, vault, formatActor, valueOf, onOpenDialog }: ContentsProps) {
  const location = useSecretsLocation();
  const { secrets, entries } = contents;
  const selection = useSelection(location, entries);
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
          location={location}
          formatActor={formatActor}
          valueOf={valueOf}
          onMore={secrets.loadMore}
          onTag={onTag}
          selection={selection}
          actionsFor={actionsFor}
        />
      )}
      <SelectionBar isDeleted={location.isDeleted} {...{ selection, onOpenDialog }} />
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
