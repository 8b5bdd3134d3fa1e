import { Tabs as Base } from "@base-ui/react/tabs";
import type { ReactNode } from "react";

export type Tab = { readonly id: string; readonly label: string; readonly content: ReactNode };

/** Arrow keys move between the tabs and activate them. */
export function Tabs({ label, tabs }: { readonly label: string; readonly tabs: readonly Tab[] }) {
  return (
    <Base.Root defaultValue={tabs[0]?.id}>
      <Base.List className="tabs" aria-label={label} activateOnFocus>
        {tabs.map(({ id, label: text }) => (
          <Base.Tab key={id} className="tab" value={id}>
            {text}
          </Base.Tab>
        ))}
      </Base.List>
      {tabs.map(({ id, content }) => (
        <Base.Panel key={id} className="tab-panel" value={id}>
          {content}
        </Base.Panel>
      ))}
    </Base.Root>
  );
}
