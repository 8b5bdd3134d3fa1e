import { DoneIcon, go } from "@hearth-and-keep/page-design";
import type { Vault } from "@hearth-and-keep/vault-contract";
import { DownIcon } from "../../design/icons.tsx";
import { MenuAround, MenuItem } from "../../design/menu.tsx";
import { addressOf } from "./secrets-location.ts";

export type VaultSwitcherProps = {
  readonly vaults: readonly Vault[];
  readonly current: Vault;
  readonly onNew: () => void;
  readonly onSettings: () => void;
  readonly onDeleted: () => void;
};

/** Which vault one is in, and the way to the others. */
export function VaultSwitcher({ vaults, current, onNew, onSettings, onDeleted }: VaultSwitcherProps) {
  const trigger = (
    <>
      <span className="one-line">{current.name}</span>
      <DownIcon />
    </>
  );
  return (
    <MenuAround
      className="button bare vault-name"
      trigger={trigger}
      align="start"
      label={`Vault ${current.name}`}
    >
      {vaults.map(({ id, name }) => (
        <MenuItem key={id} className="item" onClick={() => go(addressOf({ vaultId: id }))}>
          <span className="one-line grow">{name}</span>
          {id === current.id && (
            <>
              <span className="hidden-to-sight">(you are here)</span>
              <DoneIcon />
            </>
          )}
        </MenuItem>
      ))}
      <div className="menu-line" role="separator" />
      <MenuItem className="item" onClick={onNew}>
        New vault…
      </MenuItem>
      <MenuItem className="item" onClick={onSettings}>
        Settings of this vault…
      </MenuItem>
      <MenuItem className="item" onClick={onDeleted}>
        Deleted vaults…
      </MenuItem>
    </MenuAround>
  );
}
