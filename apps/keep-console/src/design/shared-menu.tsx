import { Menu as Base } from "@base-ui/react/menu";
import type { MenuChoice } from "./menu.tsx";

export type SharedMenuProps = {
  /** The button it was opened by; undefined while it is closed. */
  readonly anchor: HTMLElement | undefined;
  readonly label: string;
  readonly choices: readonly MenuChoice[];
  readonly onClose: () => void;
};

/** One menu for all rows of a long list: a row has a plain button, and the menu goes to the one that was pressed. */
export function SharedMenu({ anchor, label, choices, onClose }: SharedMenuProps) {
  return (
    <Base.Root
      open={anchor !== undefined}
      onOpenChange={(open) => {
        if (!open) onClose();
      }}
    >
      <Base.Portal>
        <Base.Positioner role="region" aria-label="Menu" anchor={anchor ?? null} sideOffset={4} align="end">
          <Base.Popup className="menu" aria-label={label} finalFocus={() => anchor ?? true}>
            {choices.map(({ label: text, onChoose, isDangerous = false }) => (
              <Base.Item key={text} className={isDangerous ? "item bad" : "item"} onClick={onChoose}>
                {text}
              </Base.Item>
            ))}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}
