/**
 * @module
 * The frame that every screen stands in: the product's name, the four places, the look, the list of keys, and the main
 * part, which takes the focus when the place changes. On narrow screens the places are below, near the thumb.
 * Imported by `screens/screens.tsx`.
 */
import { Main, SkipLink } from "@hearth-and-keep/page-design";
import { type ReactNode, useState } from "react";
import { Dialog } from "../design/dialog.tsx";
import {
  ChatIcon,
  ConnectIcon,
  DarkIcon,
  FlameIcon,
  KeysIcon,
  LightIcon,
  LiveIcon,
  ModelsIcon,
  SystemIcon,
} from "../design/icons.tsx";
import { Link, type Place, useLastChat, useWhereabouts } from "../router/router.tsx";
import { useStore } from "../state/store.ts";
import { nextTheme, theme } from "../state/theme.ts";
import { shortcuts, useShortcuts } from "./shortcuts.ts";

const places: readonly { readonly place: Place; readonly label: string; readonly icon: ReactNode }[] = [
  { place: "chat", label: "Chat", icon: <ChatIcon /> },
  { place: "models", label: "Models", icon: <ModelsIcon /> },
  { place: "live", label: "Live", icon: <LiveIcon /> },
  { place: "connect", label: "Connect", icon: <ConnectIcon /> },
];

export function Frame({ children }: { readonly children: ReactNode }) {
  const { place } = useWhereabouts();
  const lastChat = useLastChat();
  const back = lastChat === undefined ? {} : { conversation: lastChat };
  const [isListShown, setIsListShown] = useState(false);
  useShortcuts(() => setIsListShown(true));
  const label = places.find((each) => each.place === place)?.label;
  return (
    <div className="frame">
      <SkipLink />
      <header>
        <Link place="chat" {...back} className="name">
          <FlameIcon />
          Hearth
        </Link>
        <nav className="places" aria-label="Places">
          {places.map(({ place: to, label: words, icon }) => (
            <Link key={to} place={to} {...back} {...(to === place ? { "aria-current": "page" } : {})}>
              {icon}
              {words}
            </Link>
          ))}
        </nav>
        <button
          type="button"
          className="button bare square keys"
          aria-label="Keyboard shortcuts"
          title="Keyboard shortcuts"
          onClick={() => setIsListShown(true)}
        >
          <KeysIcon />
        </button>
        <ThemeButton />
      </header>
      <Main title={`${label} – Hearth`} className={`place-${place}`}>
        {children}
      </Main>
      {isListShown && <ShortcutList onClose={() => setIsListShown(false)} />}
    </div>
  );
}

const looks = {
  system: { icon: <SystemIcon />, words: "as the system says" },
  light: { icon: <LightIcon />, words: "light" },
  dark: { icon: <DarkIcon />, words: "dark" },
} as const;

function ThemeButton() {
  const { icon, words } = looks[useStore(theme)];
  const label = `Look: ${words}. Change it`;
  return (
    <button type="button" className="button bare square" aria-label={label} title={label} onClick={nextTheme}>
      {icon}
    </button>
  );
}

function ShortcutList({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <dl className="shortcuts">
        {shortcuts.map(({ keys, meaning }) => (
          <div key={meaning}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
