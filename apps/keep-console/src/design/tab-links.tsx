import { Link } from "@hearth-and-keep/page-design";
import { useScrollIntoView } from "./use-scroll-into-view.ts";

type TabLinkProps = { readonly to: string; readonly label: string; readonly isCurrent: boolean };

export type TabLinksProps = { readonly label: string; readonly links: readonly TabLinkProps[] };

/** Tabs that each have their own URL. They are links, so the browser's history and a new window work. */
export function TabLinks({ label, links }: TabLinksProps) {
  return (
    <nav className="tabs tab-links" aria-label={label}>
      {links.map((link) => (
        <TabLink key={link.to} {...link} />
      ))}
    </nav>
  );
}

function TabLink({ to, label, isCurrent }: TabLinkProps) {
  const text = useScrollIntoView(isCurrent);
  return (
    <Link to={to} className="tab" {...(isCurrent ? { "aria-current": "page" } : {})}>
      <span ref={text}>{label}</span>
    </Link>
  );
}
