import { expect, test } from 'vitest'
import { tellingLine } from './telling-line.ts'

const NODE = `node:internal/modules/cjs/loader:1228
  throw err;
  ^

Error: Cannot find module '/srv/index.js'
    at Module._resolveFilename (node:internal/modules/cjs/loader:1225:15)
    at node:internal/main/run_main_module:28:49 {
  code: 'MODULE_NOT_FOUND',
  requireStack: []
}

Node.js v20.19.2
`
const PYTHON = `Traceback (most recent call last):
  File "/srv/server.py", line 1, in <module>
    import mcp_that_is_missing
ModuleNotFoundError: No module named 'mcp_that_is_missing'
`
const NPM = `npm error code E404
npm error 404 Not Found - GET https://registry.example/none
npm error A complete log of this run can be found in: /home/kim/.npm/_logs/x.log
`

test.each([
  ['Node', NODE, "Error: Cannot find module '/srv/index.js'"],
  ['Python', PYTHON, "ModuleNotFoundError: No module named 'mcp_that_is_missing'"],
  ['npm', NPM, 'npm error 404 Not Found - GET https://registry.example/none'],
  ['a program', 'starting\nfatal: no key\nbye\n', 'fatal: no key'],
  ['a log', '[ERROR] no database\n', '[ERROR] no database'],
  ['one that only talks', 'starting\nSet API_KEY first\n\n', 'Set API_KEY first'],
  ['nobody', '', ''],
])('UP-03: of what %s wrote, the line that tells is found', (_, said, line) => {
  expect(tellingLine(said)).toBe(line)
})
