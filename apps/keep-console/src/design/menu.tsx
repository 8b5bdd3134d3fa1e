import { Menu as Base } from "@base-ui/react/menu";
import type { ReactNode } from "react";
import { MoreIcon } from "./icons.tsx";

export type MenuAction = {
  readonly label: string;
  readonly onSelect: () => void;
  readonly isDangerous?: boolean;
};

/** The "…" menu with further actions for one object; the label names the object. */
export function ActionMenu({
  label,
  actions,
}: {
  readonly label: string;
  readonly actions: readonly MenuAction[];
}) {
  return (
    <CustomMenu trigger={<MoreIcon />} label={label} className="button ghost square">
      {actions.map(({ label: text, onSelect, isDangerous = false }) => (
        <Base.Item key={text} className={isDangerous ? "item danger" : "item"} onClick={onSelect}>
          {text}
        </Base.Item>
      ))}
    </CustomMenu>
  );
}

type CustomMenuProps = {
  readonly trigger: ReactNode;
  readonly label?: string;
  readonly className: string;
  /** The edge of the trigger that the menu aligns with. */
  readonly align?: "start" | "end";
  readonly children: ReactNode;
};

export function CustomMenu({ trigger, label, className, align = "end", children }: CustomMenuProps) {
  return (
    <Base.Root>
      <Base.Trigger className={className} {...(label === undefined ? {} : { "aria-label": label })}>
        {trigger}
      </Base.Trigger>
      <Base.Portal>
        <Base.Positioner role="region" aria-label="Menu" sideOffset={4} align={align}>
          <Base.Popup className="menu">{children}</Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}

export const MenuItem = Base.Item;

type MenuGroupProps = { readonly label: string; readonly children: ReactNode };

/** Items under a heading. */
export function MenuGroup({ label, children }: MenuGroupProps) {
  return (
    <Base.Group className="menu-group">
      <Base.GroupLabel className="menu-group-label truncate">{label}</Base.GroupLabel>
      {children}
    </Base.Group>
  );
}
