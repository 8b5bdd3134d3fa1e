/**
 * Style of the sign-in pages when the console is not built; inlined and allowed by its hash. It defines no colors, so
 * that the system colors keep it readable in light and dark.
 */
export const styleSheet = `
:root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif; }
* { box-sizing: border-box; }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 1rem; }
main { width: 100%; max-width: 26rem; padding: 2rem 1.5rem; border: 1px solid GrayText; border-radius: .75rem; }
h1 { margin: 0 0 1.25rem; font-size: 1.375rem; line-height: 1.25; }
p { margin: 0 0 1rem; overflow-wrap: anywhere; }
form { margin: 0 0 .75rem; }
svg { width: 1.25rem; height: 1.25rem; vertical-align: middle; margin-right: .5rem; }
dl { margin: 0 0 1rem; display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .5rem 1rem; }
dd { margin: 0; overflow-wrap: anywhere; }
input:not([type="hidden"]), select { display: block; width: 100%; padding: .75rem; font: inherit; }
.login-code { font-size: 1.375rem; font-weight: 700; text-align: center; letter-spacing: .1em; }
.login-decision { display: flex; gap: .75rem; }
button, a.button { display: block; width: 100%; padding: .75rem 1rem; font: inherit; text-align: center; overflow-wrap: anywhere; }
`;
