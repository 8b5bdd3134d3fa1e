/**
 * @module
 * Keep's console: what a person sees. `shell/` is the frame, `screens/` has one folder for each place, `design/` is the
 * only place with colours and sizes besides the package that both pages stand on, `vault-api/` speaks to the server. It
 * runs in the browser alone and loads nothing from anywhere but Keep itself. No value of a secret is ever in an address.
 */
import { CSPProvider } from "@base-ui/react/csp-provider";
import { createRoot } from "react-dom/client";
import { ToastProvider } from "./design/toasts.tsx";
import { Screens } from "./screens/screens.tsx";

const root = document.getElementById("root");
if (root === null) throw new Error("The page has no place to draw on");

createRoot(root).render(
  <CSPProvider disableStyleElements>
    <ToastProvider>
      <Screens />
    </ToastProvider>
  </CSPProvider>,
);
