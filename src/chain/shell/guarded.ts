import type { Program } from '../../primitives/subprocess/command.ts'
import type { JudgedArgv } from './judge-argv.ts'

/** A program with the arguments that data gives it, and asked beforehand what data says it has to be asked. */
export function guarded(program: Program, { args, guard }: Pick<JudgedArgv, 'args' | 'guard'>): Program {
  const { command, env, cwd } = program
  if (guard === null) return { ...program, args }
  const { passesWith, reason } = guard
  return {
    ...program,
    args,
    guard: { program: { command, args: guard.args, env: { ...env, ...guard.env }, cwd }, passesWith, reason },
  }
}
