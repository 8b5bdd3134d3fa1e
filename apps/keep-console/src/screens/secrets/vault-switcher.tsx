import { DoneIcon, navigate } from "@hearth-and-keep/page-design";
import type { Vault } from "@hearth-and-keep/vault-contract";
import { DownIcon } from "../../design/icons.tsx";
import { CustomMenu, MenuItem } from "../../design/menu.tsx";
import { hrefOf } from "./secrets-location.ts";

export type VaultSwitcherProps = {
  readonly vaults: readonly Vault[];
  readonly current: Vault;
  readonly onNew: () => void;
  readonly onSettings: () => void;
  readonly onDeleted: () => void;
};

/** The current vault, a menu of the others, and vault management. */
export function VaultSwitcher({ vaults, current, onNew, onSettings, onDeleted }: VaultSwitcherProps) {
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
      {vaults.map(({ id, name }) => (
        <MenuItem key={id} className="item" onClick={() => navigate(hrefOf({ vaultId: id }))}>
          <span className="truncate grow">{name}</span>
          {id === current.id && (
            <>
              <span className="visually-hidden">(current)</span>
              <DoneIcon />
            </>
          )}
        </MenuItem>
      ))}
      <div className="menu-separator" role="separator" />
      <MenuItem className="item" onClick={onNew}>
        New vault…
      </MenuItem>
      <MenuItem className="item" onClick={onSettings}>
        Vault settings…
      </MenuItem>
      <MenuItem className="item" onClick={onDeleted}>
        Deleted vaults…
      </MenuItem>
    </CustomMenu>
  );
}
