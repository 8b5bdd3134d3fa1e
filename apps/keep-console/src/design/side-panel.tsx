import { CloseIcon, Front, FrontClose, type FrontProps, FrontTitle } from "@hearth-and-keep/page-design";

export type SidePanelProps = Pick<FrontProps, "onClose" | "children"> & { readonly title: string };

/** One thing of a list in full, beside the list; on narrow screens it takes all of the room. */
export function SidePanel({ title, onClose, children }: SidePanelProps) {
  return (
    <Front className="side-panel" onClose={onClose}>
      <div className="side-panel-head">
        <FrontTitle className="breaks">{title}</FrontTitle>
        <FrontClose className="button bare square" aria-label="Close">
          <CloseIcon />
        </FrontClose>
      </div>
      {children}
    </Front>
  );
}
