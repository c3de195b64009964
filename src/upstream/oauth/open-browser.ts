import type { Environment } from '../../config/environment.ts'
import { startApart } from '../../primitives/subprocess/start-apart.ts'
import { isSafe } from './authority.ts'

/** Opens a page in the person's browser, without a shell. Where there is none they have the address. */
export function openBrowser(address: string, environment: Environment, start = startApart): void {
  if (!isSafe(address)) return
  const { command, args } = browserOf(process.platform, new URL(address).href)
  start(command, args, environment)
}

function browserOf(platform: NodeJS.Platform, address: string): { command: string; args: readonly string[] } {
  if (platform === 'win32') return { command: 'rundll32', args: ['url.dll,FileProtocolHandler', address] }
  return { command: platform === 'darwin' ? 'open' : 'xdg-open', args: [address] }
}
