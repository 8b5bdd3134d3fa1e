/**
 * @module
 * The screens of the web UI, one folder each, and the component that shows the one of the current URL.
 * Imported by `main.tsx`.
 */
import { type ReactNode, useEffect } from "react";
import { type Section, useRoute } from "../router/router.tsx";
import { Frame } from "../shell/frame.tsx";
import { loadChats } from "../state/chats.ts";
import { loadServerState } from "../state/load-server-state.ts";
import { applyTheme } from "../state/theme.ts";
import { ChatScreen } from "./chat/chat-screen.tsx";
import { ConnectScreen } from "./connect/connect-screen.tsx";
import { LiveScreen } from "./live/live-screen.tsx";
import { ModelsScreen } from "./models/models-screen.tsx";
import { UsageScreen } from "./usage/usage-screen.tsx";

applyTheme();

export function Screens() {
  const { section, conversation } = useRoute();
  useEffect(() => {
    void loadChats();
  }, []);
  useEffect(() => {
    void loadServerState();
  }, [section]);
  const screens: Readonly<Record<Section, () => ReactNode>> = {
    chat: () => <ChatScreen key={conversation ?? "new"} id={conversation} />,
    models: () => <ModelsScreen />,
    live: () => <LiveScreen />,
    usage: () => <UsageScreen />,
    connect: () => <ConnectScreen />,
  };
  return <Frame>{screens[section]()}</Frame>;
}
