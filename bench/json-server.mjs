// Answers every request with the same small JSON, and prints its port first.
import { createServer } from 'node:http'

const body = JSON.stringify({ ok: true, pad: 'x'.repeat(110) })
const server = createServer((_, response) => {
  response.setHeader('content-type', 'application/json')
  response.end(body)
})
server.listen(0, '127.0.0.1', () => console.log(server.address().port))
