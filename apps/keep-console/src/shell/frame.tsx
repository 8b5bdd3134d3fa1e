/**
 * @module
 * The frame that every screen stands in: the bar with the product's name and the person, the places one can go, and
 * the main part that takes the focus when the place changes.
 * Imported by `main.tsx`.
 */
import { go, Link, Main, SkipLink, useAddress } from "@hearth-and-keep/page-design";
import type { Session } from "@hearth-and-keep/vault-contract";
import type { ReactNode } from "react";
import { AccountIcon, AuditIcon, DownIcon, KeepIcon, SecretsIcon, TokenIcon } from "../design/icons.tsx";
import { MenuAround, MenuItem } from "../design/menu.tsx";
import { signOut } from "./session.ts";

const places = [
  {
    to: "/secrets",
    label: "Secrets",
    icon: <SecretsIcon />,
    below: [{ to: "/secrets/tokens", label: "Tokens", icon: <TokenIcon /> }],
  },
  { to: "/audit", label: "Audit", icon: <AuditIcon />, below: [] },
  { to: "/account", label: "Account", icon: <AccountIcon />, below: [] },
] as const;

export function Frame({
  session,
  title,
  children,
}: {
  readonly session: Session;
  readonly title: string;
  readonly children: ReactNode;
}) {
  const { path } = useAddress();
  return (
    <div className="frame">
      <SkipLink />
      <header>
        <Link className="name" to="/secrets">
          <KeepIcon />
          Keep
        </Link>
        <span className="grow" />
        <Person session={session} />
      </header>
      <nav className="places" aria-label="Places">
        <ul>
          {places.map(({ to, label, icon, below }) => (
            <li key={to}>
              <Place to={to} label={label} icon={icon} isHere={isAt(path, to)} />
              {below.length > 0 && (
                <ul>
                  {below.map((place) => (
                    <li key={place.to}>
                      <Place {...place} isHere={path.startsWith(place.to)} />
                    </li>
                  ))}
                </ul>
              )}
            </li>
          ))}
        </ul>
      </nav>
      <Main title={`${title} – Keep`}>{children}</Main>
    </div>
  );
}

function isAt(path: string, to: string): boolean {
  return path.startsWith(to) && !path.startsWith("/secrets/tokens");
}

type PlaceProps = {
  readonly to: string;
  readonly label: string;
  readonly icon: ReactNode;
  readonly isHere: boolean;
};

function Place({ to, label, icon, isHere }: PlaceProps) {
  return (
    <Link to={to} {...(isHere ? { "aria-current": "page" } : {})}>
      {icon}
      {label}
    </Link>
  );
}

function Person({ session }: { readonly session: Session }) {
  const trigger = (
    <>
      <span className="one-line person">{session.account.display_name}</span>
      <DownIcon />
    </>
  );
  return (
    <MenuAround className="button bare" trigger={trigger}>
      <MenuItem className="item" onClick={() => go("/account")}>
        Account
      </MenuItem>
      <MenuItem className="item" onClick={() => go("/welcome")}>
        First steps
      </MenuItem>
      <MenuItem className="item" onClick={() => void signOut()}>
        Sign out
      </MenuItem>
    </MenuAround>
  );
}
