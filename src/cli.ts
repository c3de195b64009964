#!/usr/bin/env node
/** A client starts `kiwi` without arguments and waits for the first answer, so that path loads nothing else. */
if (process.argv.length <= 2) {
  const { stdio } = await import('./commands/stdio.ts')
  await stdio()
} else {
  const { runProgram } = await import('./commands/program.ts')
  process.exitCode = await runProgram(process.argv)
}
