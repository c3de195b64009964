import { expect, test } from 'vitest'
import { splitWords } from './search-rows.ts'

test('S3: a word in camel case is followed by its parts, any other stays as it is', () => {
  expect(splitWords('listOpenIssues')).toBe('listOpenIssues list Open Issues')
  expect(splitWords('HTTPServer v2Api')).toBe('HTTPServer HTTP Server v2Api v2 Api')
  expect(splitWords('send_slack-message.v2')).toBe('send_slack-message.v2')
  expect(splitWords('größe URL')).toBe('größe URL')
  expect(splitWords('')).toBe('')
})
