/** A client starts `kiwi` without arguments and waits for the first answer, so that path loads nothing else. */
export async function run(argv: readonly string[]): Promise<void> {
  if (argv.length <= 2) {
    const { stdio } = await import('./commands/stdio.ts')
    await stdio()
  } else {
    const { runProgram } = await import('./commands/program.ts')
    process.exitCode = await runProgram(argv)
  }
}
