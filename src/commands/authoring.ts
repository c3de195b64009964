import type { Command } from 'commander'

/** A new command with its options for every project, and what becomes of its exit code. */
export interface Program {
  readonly inProject: (name: string, description: string) => Command
  readonly ends: (run: Promise<number>) => Promise<void>
}

const TYPE = ['--type <item_type>', 'tool, directive, knowledge or mcp', 'tool'] as const
const SET_VERSION = ['--set-version <version>', 'the version it gets, in place of the next patch'] as const
const CHANGELOG = ['--changelog <text>', 'what is different'] as const
const DRY_RUN = ['--dry-run', 'check everything, write nothing'] as const

/** The commands that make, take over, change and publish items. */
export function addAuthoring({ inProject, ends }: Program): void {
  addImport({ inProject, ends })
  inProject('create', 'make an item from a manifest, a folder with tool.yaml, a script or a document')
    .argument('<source>', 'tool.yaml, a folder, script.py, document.md')
    .option(...TYPE)
    .option('--location <space>', 'project, user or registry', 'project')
    .option('--id <id>', 'its id, when it does not say so itself')
    .option('--category <path>', 'folders it is put into')
    .option('--description <text>', 'what it does, when it does not say so itself')
    .option(...DRY_RUN)
    .action(async (source, options) => ends((await import('./create.ts')).createCommand(source, options)))
  inProject('update', 'change an item; its version goes up')
    .argument('<id>', 'name or category/name')
    .argument('[source]', 'what it becomes: a manifest, folder, script or document')
    .option(...TYPE)
    .option('--location <space>', 'look in one space only')
    .option(...SET_VERSION)
    .option(...CHANGELOG)
    .option(...DRY_RUN)
    .action(async (id, source, options) =>
      ends((await import('./update.ts')).updateCommand(id, source, options)),
    )
  inProject('check', 'read a directive and say what it may do and what is wrong with it')
    .argument('<directive>', 'name, category/name, a file, or the folder of a skill')
    .option('--fix', 'write signs that are no XML as text: & as &amp;, < as &lt;')
    .action(async (target, options) => ends((await import('./check.ts')).checkCommand(target, options)))
  inProject('delete', 'remove an item from the space it lies in')
    .argument('<id>', 'name or category/name')
    .option(...TYPE)
    .option('--location <space>', 'look in one space only')
    .option('--yes', 'without asking')
    .action(async (id, options) => ends((await import('./delete.ts')).deleteCommand(id, options)))
  inProject('publish', 'make an immutable version of an item in the registry')
    .argument('<id>', 'name or category/name')
    .option(...TYPE)
    .option('--location <space>', 'project or user')
    .option(...SET_VERSION)
    .option(...CHANGELOG)
    .option(...DRY_RUN)
    .action(async (id, options) => ends((await import('./publish.ts')).publishCommand(id, options)))
  inProject('versions', 'list the published versions of an item')
    .argument('<id>', 'name or category/name')
    .option(...TYPE)
    .action(async (id, options) => ends((await import('./versions.ts')).versionsCommand(id, options)))
  inProject('diff', 'compare versions: a@1.0.0 a@1.1.0, or a 1.0.0 1.1.0, or a')
    .argument('<ids...>', 'an id alone is compared with its latest published version')
    .option(...TYPE)
    .action(async (ids, options) => ends((await import('./diff.ts')).diffCommand(ids, options)))
  inProject('rollback', 'make what an item was in an earlier version its latest again')
    .argument('<id>', 'name')
    .argument('<version>', 'a published version')
    .option(...TYPE)
    .option('--yes', 'without asking')
    .option(...DRY_RUN)
    .action(async (id, version, options) =>
      ends((await import('./rollback.ts')).rollbackCommand(id, version, options)),
    )
}

/** The command that takes over items from elsewhere. */
function addImport({ inProject, ends }: Program): void {
  inProject('import', 'take over items from an older or other folder, or the MCP servers of other clients')
    .argument(
      '[path]',
      'an .ai folder or one that holds it, ~/.script-kiwi and the like, a skill, one file, a client such as cursor, or mcp',
    )
    .argument(
      '[files...]',
      'behind mcp: configs of other clients, or their names; none looks where all keep them',
    )
    .option('--to <space>', 'user or project', 'user')
    .option('--dry-run', 'show what would be imported, write nothing')
    .option('--undo <batch>', 'take an import back')
    .option('--yes', 'take it back without asking')
    .option('--list', 'show the imports so far')
    .action(async (path, files, options) =>
      ends((await import('./import.ts')).importCommand(path, files, options)),
    )
}
