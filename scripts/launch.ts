import { createRequire } from 'node:module'
import { openBundle } from './bundle.ts'

/** `dist/cli.js`: what is shipped, started with what the engine has compiled of it before. */
const { load } = openBundle(import.meta.dirname, createRequire(import.meta.filename))
void load('main.js').run(process.argv)
