import { DoneIcon, navigate } from "@hearth-and-keep/page-design";
import type { Organisation, Vault } from "@hearth-and-keep/vault-contract";
import { DownIcon } from "../../design/icons.tsx";
import { CustomMenu, MenuGroup, MenuItem } from "../../design/menu.tsx";
import { organisationPath } from "../../vault-api/member-names.ts";
import { useQuery } from "../../vault-api/use-query.ts";
import { hrefOf } from "./secrets-location.ts";
import { useAccess } from "./vault-access.ts";

export type VaultSwitcherProps = {
  /** Of the person's own account. */
  readonly vaults: readonly Vault[];
  readonly current: Vault;
  readonly onNew: () => void;
  readonly onSettings: () => void;
  readonly onAccess: () => void;
  readonly onDeleted: () => void;
};

/** The current vault, a menu of the others, and vault management. */
export function VaultSwitcher(props: VaultSwitcherProps) {
  const { vaults, current, onNew, onSettings, onAccess, onDeleted } = props;
  const { organisationId, allows } = useAccess();
  const trigger = (
    <>
      <span className="truncate">{current.name}</span>
      <DownIcon />
    </>
  );
  return (
    <CustomMenu
      className="button ghost vault-name"
      trigger={trigger}
      align="start"
      label={`Vault ${current.name}`}
    >
      <VaultItems vaults={vaults} currentId={current.id} />
      <OrganisationGroups currentId={current.id} />
      <div className="menu-separator" role="separator" />
      <MenuItem className="item" onClick={onNew}>
        New vault…
      </MenuItem>
      {allows("vaults:write") && (
        <MenuItem className="item" onClick={onSettings}>
          Vault settings…
        </MenuItem>
      )}
      {organisationId !== undefined && allows("grants:read") && (
        <MenuItem className="item" onClick={onAccess}>
          Access…
        </MenuItem>
      )}
      <MenuItem className="item" onClick={onDeleted}>
        Deleted vaults…
      </MenuItem>
    </CustomMenu>
  );
}

type VaultItemsProps = { readonly vaults: readonly Vault[]; readonly currentId: string };

function VaultItems({ vaults, currentId }: VaultItemsProps) {
  return vaults.map(({ id, name }) => (
    <MenuItem key={id} className="item" onClick={() => navigate(hrefOf({ vaultId: id }))}>
      <span className="truncate grow">{name}</span>
      {id === currentId && (
        <>
          <span className="visually-hidden">(current)</span>
          <DoneIcon />
        </>
      )}
    </MenuItem>
  ));
}

type GroupProps = { readonly currentId: string };
type OrganisationList = { readonly items: readonly Organisation[] };

/** Loads when the menu opens, so that people without organisations wait for nothing. */
function OrganisationGroups({ currentId }: GroupProps) {
  const organisations = useQuery<OrganisationList>("/api/organisations");
  if (organisations.state !== "loaded") return null;
  return organisations.body.items.map((organisation) => (
    <OrganisationGroup key={organisation.id} organisation={organisation} currentId={currentId} />
  ));
}

function OrganisationGroup({
  organisation,
  currentId,
}: GroupProps & { readonly organisation: Organisation }) {
  const vaults = useQuery<readonly Vault[]>(`${organisationPath(organisation.id)}/vaults`);
  if (vaults.state !== "loaded" || vaults.body.length === 0) return null;
  return (
    <MenuGroup label={organisation.name}>
      <VaultItems vaults={vaults.body} currentId={currentId} />
    </MenuGroup>
  );
}
