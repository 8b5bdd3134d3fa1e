/**
 * @module
 * Hearth's browser page: what a person sees. `shell/` is the frame, `screens/` has one folder for each place,
 * `design/` is the only place with colours and sizes besides the package that both pages stand on, `server-api/` speaks
 * to the server, `router/` knows where one is. It runs in the browser alone and loads nothing from anywhere but this
 * server.
 */
import { CSPProvider } from "@base-ui/react/csp-provider";
import { createRoot } from "react-dom/client";
import { Screens } from "./screens/screens.tsx";

const root = document.getElementById("root");
if (root === null) throw new Error("The page has no place to draw on");

createRoot(root).render(
  <CSPProvider disableStyleElements>
    <Screens />
  </CSPProvider>,
);
