import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { createFixture } from './fixture.ts'

/** The fixture as a program of its own. */
serveStdio(await createFixture())
