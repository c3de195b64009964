import { ERRORS, KiwiError } from '../shared/errors.ts'
import { isTrustedProject } from '../spaces/trusted-project.ts'
import { canAsk, isAgreed } from './ask.ts'
import { projectItems, showProjectItems } from './project-items.ts'
import { openTerminal, printReply, printable, table } from './terminal.ts'
import { trustServer } from './trust-server.ts'
import type { CommonOptions, Session } from './with-kiwi.ts'
import { withKiwi } from './with-kiwi.ts'

interface TrustOptions extends CommonOptions {
  readonly yes?: boolean
  readonly revoke?: boolean
  readonly list?: boolean
}

/** `kiwi trust`: what a project brings runs only once a person said so; with a name, what a server or its tool is now. */
export function trustCommand(name: string | undefined, options: TrustOptions): Promise<number> {
  return withKiwi(options, async (session) => {
    if (name !== undefined) {
      if (options.revoke === true || options.list === true) throw nameless(name)
      return trustServer(session, name, options)
    }
    if (options.list === true) return list(session, options.json === true)
    if (options.revoke !== true && !(await isConfirmed(session, options.yes === true))) return refused()
    const reply = await session.trust(options.revoke === true)
    return printReply(reply, options.json === true, (_, terminal) => {
      const word = options.revoke === true ? 'No longer trusted' : 'Trusted'
      terminal.out(`${word}: ${printable(session.project)}`)
    })
  })
}

function nameless(name: string): KiwiError {
  return new KiwiError('INVALID_PARAMETERS', `Cannot read "${name}": --revoke and --list take no name`, {
    hint: 'They are about projects: kiwi trust --revoke --project FOLDER; a server is switched off with kiwi remove',
  })
}

async function list({ kiwi }: Session, isJson: boolean): Promise<number> {
  const terminal = openTerminal()
  const projects = await kiwi.store.trustedProjects()
  if (isJson) terminal.out(JSON.stringify(projects, null, 2))
  else if (projects.length === 0) terminal.note('No project is trusted yet: kiwi trust')
  else terminal.out(table(projects.map(({ path, trusted_at, trusted_by }) => [path, trusted_at, trusted_by])))
  return 0
}

function refused(): number {
  openTerminal().note('Nothing was changed.')
  return ERRORS.UNTRUSTED.exit
}

/** Shows what the project brings and asks. Without a terminal there is nobody to ask. */
export async function isConfirmed({ kiwi, project }: Session, isYes: boolean): Promise<boolean> {
  if (isYes) return true
  if (!canAsk()) {
    throw new KiwiError('CONFIRM_REQUIRED', `Cannot trust "${project}": there is no terminal to ask at`, {
      hint: 'Review what the project brings, then give --yes',
    })
  }
  const terminal = openTerminal()
  terminal.note(`Items of ${printable(project)} will run with your rights.`)
  showProjectItems(await projectItems(kiwi, project), terminal)
  return isAgreed('Trust this project?')
}

/** Whether a person has trusted this folder. */
export function isTrusted({ kiwi, project }: Pick<Session, 'kiwi' | 'project'>): Promise<boolean> {
  return isTrustedProject(project, kiwi.config.userSpace, () => kiwi.store.trustedProjects())
}
