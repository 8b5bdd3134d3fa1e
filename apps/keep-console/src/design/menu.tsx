import { Menu as Base } from "@base-ui/react/menu";
import type { ReactNode } from "react";
import { MoreIcon } from "./icons.tsx";

export type MenuChoice = {
  readonly label: string;
  readonly onChoose: () => void;
  readonly isDangerous?: boolean;
};

/** What else can be done with one thing, behind a small button that says with which. */
export function Menu({
  label,
  choices,
}: {
  readonly label: string;
  readonly choices: readonly MenuChoice[];
}) {
  return (
    <MenuAround trigger={<MoreIcon />} label={label} className="button bare square">
      {choices.map(({ label: text, onChoose, isDangerous = false }) => (
        <Base.Item key={text} className={isDangerous ? "item bad" : "item"} onClick={onChoose}>
          {text}
        </Base.Item>
      ))}
    </MenuAround>
  );
}

type MenuAroundProps = {
  readonly trigger: ReactNode;
  readonly label?: string;
  readonly className: string;
  /** Which edge of the button it hangs from. */
  readonly align?: "start" | "end";
  readonly children: ReactNode;
};

export function MenuAround({ trigger, label, className, align = "end", children }: MenuAroundProps) {
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
