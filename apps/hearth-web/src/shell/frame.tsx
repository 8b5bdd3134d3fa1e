/**
 * @module
 * The frame around every screen: the product name, the navigation, the theme and the keyboard shortcuts. The main
 * landmark takes the focus when the section changes. On narrow screens the navigation is at the bottom, within reach of
 * the thumb.
 * Imported by `screens/screens.tsx`.
 */
import { MainLandmark, SkipLink } from "@hearth-and-keep/page-design";
import { type ReactNode, useState } from "react";
import { Dialog } from "../design/dialog.tsx";
import {
  ChatIcon,
  ConnectIcon,
  DarkIcon,
  FlameIcon,
  KeyboardIcon,
  LightIcon,
  LiveIcon,
  ModelsIcon,
  SystemIcon,
  UsageIcon,
} from "../design/icons.tsx";
import { Link, type Section, useLastChat, useRoute } from "../router/router.tsx";
import { useStore } from "../state/store.ts";
import { cycleTheme, theme } from "../state/theme.ts";
import { shortcuts, useShortcuts } from "./shortcuts.ts";

type NavigationItem = { readonly section: Section; readonly label: string; readonly icon: ReactNode };

const navigation: readonly NavigationItem[] = [
  { section: "chat", label: "Chat", icon: <ChatIcon /> },
  { section: "models", label: "Models", icon: <ModelsIcon /> },
  { section: "live", label: "Live", icon: <LiveIcon /> },
  { section: "usage", label: "Usage", icon: <UsageIcon /> },
  { section: "connect", label: "Connect", icon: <ConnectIcon /> },
];

export function Frame({ children }: { readonly children: ReactNode }) {
  const { section } = useRoute();
  const lastChat = useLastChat();
  const conversation = lastChat === undefined ? {} : { conversation: lastChat };
  const [isListOpen, setIsListOpen] = useState(false);
  useShortcuts(() => setIsListOpen(true));
  const title = navigation.find((item) => item.section === section)?.label;
  return (
    <div className="frame">
      <SkipLink />
      <header>
        <Link section="chat" {...conversation} className="brand">
          <FlameIcon />
          Hearth
        </Link>
        <nav className="main-nav" aria-label="Main">
          {navigation.map((item) => (
            <Link
              key={item.section}
              section={item.section}
              {...conversation}
              {...(item.section === section ? { "aria-current": "page" } : {})}
            >
              {item.icon}
              {item.label}
            </Link>
          ))}
        </nav>
        <button
          type="button"
          className="button ghost square shortcuts-button"
          aria-label="Keyboard shortcuts"
          title="Keyboard shortcuts"
          onClick={() => setIsListOpen(true)}
        >
          <KeyboardIcon />
        </button>
        <ThemeButton />
      </header>
      <MainLandmark title={`${title} – Hearth`} className={`screen-${section}`}>
        {children}
      </MainLandmark>
      {isListOpen && <ShortcutList onClose={() => setIsListOpen(false)} />}
    </div>
  );
}

const themeIcons = { system: <SystemIcon />, light: <LightIcon />, dark: <DarkIcon /> } as const;

function ThemeButton() {
  const current = useStore(theme);
  const label = `Theme: ${current}`;
  return (
    <button
      type="button"
      className="button ghost square"
      aria-label={label}
      title={label}
      onClick={cycleTheme}
    >
      {themeIcons[current]}
    </button>
  );
}

function ShortcutList({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <dl className="shortcuts">
        {shortcuts.map(({ keys, description }) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{description}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
