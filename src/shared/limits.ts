/** What the house bounds, in one place; `help` shows the same numbers. */
export const LIMITS = {
  /** Levels of any document or message. */
  nesting: 64,
  /** Bytes of a manifest, directive or knowledge file. */
  itemBytes: 256 * 1024,
  /** Bytes of all files of one item together, and their number. */
  bundleBytes: 50 * 1024 * 1024,
  bundleFiles: 2000,
  /** Links of an executor chain. */
  chainLinks: 10,
  /** Bytes of one request over any transport, and of one call's parameters. */
  requestBytes: 4 * 1024 * 1024,
  /** Bytes of one message over standard input: more than a call may have, so that it hears why. */
  lineBytes: 10 * 1000 * 1000,
  /** Bytes of a parameter that still goes into the environment of a child. */
  environmentBytes: 32 * 1024,
  /** Bytes of a result that still stand in a reply; what is larger is kept and paged by `load`. */
  resultBytes: 32 * 1024,
  /** Bytes of an answer of search, load or help; of what is larger the reply holds a part. */
  answerBytes: 128 * 1024,
  /** Characters of what an error says. */
  messageCharacters: 2000,
  /** Kept results of large output, newest first. */
  keptResults: 100,
  /** Kept results of the rules of runtimes, by content; beyond it the older half goes. */
  keptChecks: 2000,
  /** Milliseconds that the programs of all rules may take for one item, and files that one rule looks at. */
  checkMs: 60_000,
  checkedFiles: 200,
  /** Folders with the files of tools in the cache; beyond it the oldest go that were not used for a week. */
  workFolders: 200,
  /** Environments of a runtime in the cache; beyond it the oldest go that were not used for so many days. */
  environments: 20,
  environmentDays: 30,
  /** Packages a tool may require, and characters of one of them, its hashes not counted. */
  requirements: 1000,
  requirementCharacters: 1000,
  /** Characters of a call's parameters in the journal; beyond it only their beginning and their hash. */
  journalCharacters: 8 * 1024,
  /** Bytes of one file that mirrors the journal in a project; the one before is kept beside it. */
  mirrorBytes: 10 * 1000 * 1000,
  /** Records, and seconds with records, after which the length of the journal is signed. */
  headRecords: 1000,
  headSeconds: 60,
  /** Questions to a person that one session may have open, and ended ones that are kept. */
  openApprovals: 20,
  keptApprovals: 1000,
  /** Cost of a JSON Schema that comes from data. */
  schemaCost: 20_000,
  /** Parts such a schema is written in: schemas and lists of them. */
  schemaSize: 2000,
  /** Names an import looks at in one folder, and in all. */
  importFolderNames: 20_000,
  importNames: 50_000,
  /** What is kept for undo: bytes and files in all, days, and bytes of one call; the oldest goes first. */
  undoBytes: 1024 * 1024 * 1024,
  undoFiles: 20_000,
  undoDays: 30,
  undoCallBytes: 256 * 1024 * 1024,
  /** Bytes of a file that git does not track and undo still covers when a program changes it. */
  undoUntrackedBytes: 2 * 1024 * 1024,
  /** Hours without a call after which a run is over. */
  idleRunHours: 24,
  /** Characters of a command line, and commands in it. */
  lineCharacters: 64 * 1024,
  lineCommands: 50,
  /** Tools an upstream may list, bytes of their definitions, and pages they may come in. */
  listedTools: 2000,
  listedBytes: 4 * 1024 * 1024,
  listedPages: 64,
  /** Searches that led to a use and are remembered: of one space, and in all; beyond it the oldest go. */
  usesOfSpace: 500,
  uses: 5000,
  /** Words of a search query. */
  queryWords: 64,
  /** Characters of an item, or of a query, that an embedder is given. */
  embeddedCharacters: 2000,
  /** Numbers of one vector, and bytes of memory for all that search compares. */
  vectorNumbers: 8192,
  vectorBytes: 128 * 1024 * 1024,
  /** Bytes of a description in the search index. */
  descriptionBytes: 2048,
  /** Bytes of each place that a sandbox gives a program for itself. */
  sandboxTempBytes: 512 * 1024 * 1024,
  /** Bytes of memory that a process in a strict sandbox may write to, and processes in it. */
  sandboxMemoryBytes: 4 * 1024 * 1024 * 1024,
  sandboxProcesses: 1024,
} as const
