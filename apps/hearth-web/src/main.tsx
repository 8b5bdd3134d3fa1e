/**
 * @module
 * Hearth's web UI. `shell/` is the frame with the navigation, `screens/` has one folder per section, `state/` holds
 * what outlives a screen, `design/` the style, `server-api/` the API client, `router/` the URLs. It runs in the browser
 * and loads nothing from any other server.
 */
import { CSPProvider } from "@base-ui/react/csp-provider";
import { createRoot } from "react-dom/client";
import { Screens } from "./screens/screens.tsx";

const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no #root element");

createRoot(root).render(
  <CSPProvider disableStyleElements>
    <Screens />
  </CSPProvider>,
);
