/**
 * @module
 * Keep's web console. `shell/` is the frame, `screens/` has one folder per screen, `design/` holds components and styles
 * on top of the shared `page-design` package, `vault-api/` is the API client. It runs in the browser only and loads
 * nothing from other origins. Secret values never appear in a URL.
 */
import { CSPProvider } from "@base-ui/react/csp-provider";
import { createRoot } from "react-dom/client";
import { ToastProvider } from "./design/toasts.tsx";
import { Screens } from "./screens/screens.tsx";

const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no #root element");

createRoot(root).render(
  <CSPProvider disableStyleElements>
    <ToastProvider>
      <Screens />
    </ToastProvider>
  </CSPProvider>,
);
