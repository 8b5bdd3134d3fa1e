/**
 * @module
 * The screens of the page, one folder each: chat, models, live and connect. Here is which of them is shown.
 * Imported by `main.tsx`.
 */
import { type ReactNode, useEffect } from "react";
import { type Place, useWhereabouts } from "../router/router.tsx";
import { Frame } from "../shell/frame.tsx";
import { loadChats } from "../state/chats.ts";
import { loadModels } from "../state/models.ts";
import { applyTheme } from "../state/theme.ts";
import { ChatScreen } from "./chat/chat-screen.tsx";
import { ConnectScreen } from "./connect/connect-screen.tsx";
import { LiveScreen } from "./live/live-screen.tsx";
import { ModelsScreen } from "./models/models-screen.tsx";

applyTheme();

export function Screens() {
  const { place, conversation } = useWhereabouts();
  useEffect(() => {
    void loadChats();
  }, []);
  // A model that another program made is there when one looks again.
  useEffect(() => {
    void loadModels();
  }, [place]);
  const screens: Readonly<Record<Place, () => ReactNode>> = {
    chat: () => <ChatScreen key={conversation ?? "new"} id={conversation} />,
    models: () => <ModelsScreen />,
    live: () => <LiveScreen />,
    connect: () => <ConnectScreen />,
  };
  return <Frame>{screens[place]()}</Frame>;
}
