import { spawn } from 'node:child_process'

/**
 * Starts a program that is not ours to end, such as the browser of a person: it outlives us. No shell reads its
 * arguments; one that cannot be started is none.
 */
export function startApart(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): void {
  const child = spawn(command, [...args], { env, cwd: '/', detached: true, stdio: 'ignore', shell: false })
  child.on('error', () => {})
  child.unref()
}
