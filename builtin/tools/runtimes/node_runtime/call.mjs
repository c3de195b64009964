// Calls a function that a script exports with the parameters of the tool as one object, and hands its result over.
// The parameters come as JSON on standard input. A result that is not undefined is written behind a record
// separator, as RFC 7464 has it, so that it can be told from whatever the script itself has printed.
import { readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

const [path, wanted] = process.argv.slice(2)
const parameters = JSON.parse(readFileSync(0, 'utf8'))
process.argv = [process.argv[0], path]
const script = await import(pathToFileURL(path).href)
const named = (name) => script[name] ?? script.default?.[name]
const call = wanted ? named(wanted) : [script.default, named('main'), named('run')].find(isFunction)
if (!isFunction(call)) {
  console.error(`${path} exports no function ${wanted || 'as default, main or run'}`)
  process.exit(1)
}
const result = await call(parameters)
if (result !== undefined) process.stdout.write(`\u001E${JSON.stringify(result)}\n`)

function isFunction(value) {
  return typeof value === 'function'
}
