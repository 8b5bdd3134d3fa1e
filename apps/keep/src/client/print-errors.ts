/** Apart, because what measures text takes longer to load than most commands; imported when there is an error. */
export { printToStderr, reportUsageError } from "@hearth-and-keep/terminal";
