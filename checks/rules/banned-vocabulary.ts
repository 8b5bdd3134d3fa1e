/** Idiosyncratic words that must not be used in names, because an established term exists. */
export const bannedVocabulary: ReadonlySet<string> = new Set(
  [
    // error, report, print, format
    "told tell tells telling",
    // request, query, send
    "ask asks asked asking question questions wish wishes wished",
    // location, slot, address, offset
    "place places whereabouts surroundings",
    // dependencies, chunks
    "parts piece pieces",
    // MAC, marker, stamp
    "mark marks",
    // dialogs, mutations
    "deed deeds doing",
    // insert, delete
    "bear bore born birth",
    // inspect, theme
    "look looks sight eyes",
    // actor
    "who whose nobody",
    // args, text
    "words",
    // lease, release
    "lend lent lends",
    // max, min, default
    "most least usual",
    // openapi, cluster, cleanup, cache invalidation
    "papers housekeeping forgetting forgotten forget",
    // queue
    "lane lanes newcomer newcomers",
    // fixture, fake
    "stage scripted played darkroom lies lying",
    // again, retry policy, stale
    "anew patience deaf",
    // other idiosyncratic words
    "obey pay house wall",
  ].flatMap((line) => line.split(" ")),
);

/** Names that use such a word in its conventional meaning. */
export const conventionalNames: ReadonlySet<string> = new Set([
  // Databases record applied migrations by file name.
  "0007-keys-by-what-tells-rows-apart.sql",
  // The Unix user.
  "nobodyUserId",
  "runsAsNobody",
  // A stage of a CI run.
  "Stage",
  "StageResult",
]);
