import { Menu as Base } from "@base-ui/react/menu";
import type { MenuAction } from "./menu.tsx";

export type SharedMenuProps = {
  /** The button that opened it; undefined while it is closed. */
  readonly anchor: HTMLElement | undefined;
  readonly label: string;
  readonly actions: readonly MenuAction[];
  readonly onClose: () => void;
};

/** One menu for all rows of a long list: rows have plain buttons, and the menu anchors to the one pressed. */
export function SharedMenu({ anchor, label, actions, onClose }: SharedMenuProps) {
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
            {actions.map(({ label: text, onSelect, isDangerous = false }) => (
              <Base.Item key={text} className={isDangerous ? "item danger" : "item"} onClick={onSelect}>
                {text}
              </Base.Item>
            ))}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}
