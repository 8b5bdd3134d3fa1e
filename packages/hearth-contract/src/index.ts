/**
 * @module
 * What Hearth's server and its own clients agree on beyond the three public APIs: the machine-readable code of every
 * failure, and what to suggest to a person who meets it.
 * Imported by the server, the terminal commands and the browser page; runs in a browser too.
 */
export {};
