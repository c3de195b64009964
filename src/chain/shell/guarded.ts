import type { Program } from '../../primitives/subprocess/command.ts'
import type { JudgedArgv } from './judge-argv.ts'

/** A program with the arguments that data gives it, and asked beforehand what data says it has to be asked. */
export function guarded(program: Program, { args, guards }: Pick<JudgedArgv, 'args' | 'guards'>): Program {
  const { command, env, cwd } = program
  return {
    ...program,
    args,
    guards: guards.map(({ args: asked, env: more, ...rest }) => ({
      ...rest,
      program: { command, args: asked, env: { ...env, ...more }, cwd },
    })),
  }
}
