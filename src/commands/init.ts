import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ERRORS, KiwiError, errnoOf, messageOf } from '../shared/errors.ts'
import { leadsOutTo } from '../spaces/disk.ts'
import { projectItems } from './project-items.ts'
import { printReply, printable } from './terminal.ts'
import { isConfirmed, isTrusted } from './trust.ts'
import type { CommonOptions } from './with-kiwi.ts'
import { withKiwi } from './with-kiwi.ts'

interface InitOptions extends CommonOptions {
  readonly yes?: boolean
}

/** What runs leave behind is nobody's source. */
const IGNORED = 'outputs/\nlogs/\ncheckpoints/\n'

/** `kiwi init`: the folders of a project, and a person's word for it. */
export function initCommand(options: InitOptions): Promise<number> {
  // A project is made where one stands, whatever lies above.
  return withKiwi({ project: '.', ...options }, async (session) => {
    const { kiwi, project } = session
    const { count } = await projectItems(kiwi, project)
    const needsNoWord = count === 0 || (await isTrusted(session))
    if (!needsNoWord && !(await isConfirmed(session, options.yes === true))) return ERRORS.UNTRUSTED.exit
    makeFolders(project)
    return printReply(await session.trust(false), options.json === true, (_, terminal) => {
      terminal.out(`Ready: ${printable(join(project, '.ai'))} (trusted)`)
      terminal.note('\nNext:')
      terminal.note('  kiwi search hello')
      terminal.note('  kiwi run hello_world name=Ada')
      terminal.note('  kiwi create <manifest.yaml or folder>')
    })
  })
}

function makeFolders(project: string): void {
  const root = join(project, '.ai')
  const outside = leadsOutTo(root, project)
  if (outside !== null) {
    throw new KiwiError(
      'PERMISSION_DENIED',
      `Cannot use "${root}": a link leads out of the project to "${outside}"`,
      {
        hint: 'Replace the link by a folder',
      },
    )
  }
  try {
    for (const folder of ['tools', 'directives', 'knowledge'])
      mkdirSync(join(root, folder), { recursive: true })
    const ignore = join(root, '.gitignore')
    if (!existsSync(ignore)) writeFileSync(ignore, IGNORED)
  } catch (error) {
    const code = errnoOf(error) === 'ENOSPC' ? 'STORE_FULL' : 'STORE_UNAVAILABLE'
    throw new KiwiError(code, `Cannot make "${root}": ${messageOf(error)}`, {
      hint: 'Make the folder of the project writable',
      cause: error,
    })
  }
}
