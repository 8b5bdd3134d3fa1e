/**
 * @module
 * The frame around every screen: the header with the product name and the account menu, the navigation, and the main
 * landmark, which takes the focus when the screen changes.
 * Imported by `screens/screens.tsx`.
 */
import { Link, MainLandmark, navigate, SkipLink, useLocation } from "@hearth-and-keep/page-design";
import type { Session } from "@hearth-and-keep/vault-contract";
import type { ReactNode } from "react";
import {
  AccountIcon,
  AuditIcon,
  DownIcon,
  KeepIcon,
  OperatorIcon,
  OrganisationIcon,
  RuleIcon,
  SecretsIcon,
  TokenIcon,
} from "../design/icons.tsx";
import { CustomMenu, MenuItem } from "../design/menu.tsx";
import { useScrollIntoView } from "../design/use-scroll-into-view.ts";
import { SearchButton } from "./search-button.tsx";
import { isOperator, signOut } from "./session.ts";

type NavigationItem = {
  readonly to: string;
  readonly label: string;
  readonly icon: ReactNode;
  readonly children: readonly Omit<NavigationItem, "children">[];
};

const navigationItems: readonly NavigationItem[] = [
  {
    to: "/secrets",
    label: "Secrets",
    icon: <SecretsIcon />,
    children: [
      { to: "/secrets/tokens", label: "Tokens", icon: <TokenIcon /> },
      { to: "/secrets/trust-rules", label: "Trust rules", icon: <RuleIcon /> },
    ],
  },
  { to: "/organisations", label: "Organisations", icon: <OrganisationIcon />, children: [] },
  { to: "/audit", label: "Audit", icon: <AuditIcon />, children: [] },
  { to: "/account", label: "Account", icon: <AccountIcon />, children: [] },
];

const operatorItem: NavigationItem = {
  to: "/accounts",
  label: "Accounts",
  icon: <OperatorIcon />,
  children: [],
};

export function Frame({
  session,
  title,
  children,
}: {
  readonly session: Session;
  readonly title: string;
  readonly children: ReactNode;
}) {
  const { path } = useLocation();
  const items = isOperator(session) ? [...navigationItems, operatorItem] : navigationItems;
  return (
    <div className="frame">
      <SkipLink />
      <header>
        <Link className="brand" to="/secrets">
          <KeepIcon />
          Keep
        </Link>
        <span className="grow" />
        <SearchButton />
        <AccountMenu session={session} />
      </header>
      <nav className="main-nav" aria-label="Main">
        <ul>
          {items.map(({ to, label, icon, children: nested }) => (
            <li key={to}>
              <NavigationLink
                to={to}
                label={label}
                icon={icon}
                isCurrent={isWithin(path, to) && !nested.some((item) => isWithin(path, item.to))}
              />
              {nested.length > 0 && (
                <ul>
                  {nested.map((item) => (
                    <li key={item.to}>
                      <NavigationLink {...item} isCurrent={isWithin(path, item.to)} />
                    </li>
                  ))}
                </ul>
              )}
            </li>
          ))}
        </ul>
      </nav>
      <MainLandmark title={`${title} – Keep`}>{children}</MainLandmark>
    </div>
  );
}

function isWithin(path: string, to: string): boolean {
  return path === to || path.startsWith(`${to}/`);
}

type NavigationLinkProps = {
  readonly to: string;
  readonly label: string;
  readonly icon: ReactNode;
  readonly isCurrent: boolean;
};

function NavigationLink({ to, label, icon, isCurrent }: NavigationLinkProps) {
  const text = useScrollIntoView(isCurrent);
  return (
    <Link to={to} {...(isCurrent ? { "aria-current": "page" } : {})}>
      {icon}
      <span ref={text}>{label}</span>
    </Link>
  );
}

function AccountMenu({ session }: { readonly session: Session }) {
  const trigger = (
    <>
      <span className="truncate account-name">{session.account.display_name}</span>
      <DownIcon />
    </>
  );
  return (
    <CustomMenu className="button ghost" trigger={trigger}>
      <MenuItem className="item" onClick={() => navigate("/account")}>
        Account
      </MenuItem>
      <MenuItem className="item" onClick={() => navigate("/welcome")}>
        First steps
      </MenuItem>
      <MenuItem className="item" onClick={() => void signOut()}>
        Sign out
      </MenuItem>
    </CustomMenu>
  );
}
