import { editDocument, hasFrontMatter } from './edit-document.ts'
import { editManifest } from './edit-manifest.ts'
import { setHeader } from './script-header.ts'

/** Writes a version where a file of this name says its own; nothing else of it changes. */
export async function setVersion(fileName: string, text: string, version: string): Promise<string> {
  if (/\.toml$/i.test(fileName)) return inToml(text, version)
  if (/\.md$/i.test(fileName)) return inDocument(text, version)
  return setHeader(fileName, text, { version }) ?? editManifest(text, { version }, fileName)
}

/** Before the first table: behind it the key would be the table's. */
function inToml(text: string, version: string): string {
  const table = /^[ \t]*\[/m.exec(text)?.index ?? text.length
  const [top, rest] = [text.slice(0, table), text.slice(table)]
  const key = /^([ \t]*(?:version|"version")[ \t]*=[ \t]*)(?:"[^"\n]*"|'[^'\n]*')/m
  if (key.test(top)) return top.replace(key, (_, before: string) => `${before}"${version}"`) + rest
  const line = top === '' || top.endsWith('\n') ? '' : '\n'
  return `${top}${line}version = "${version}"\n${rest}`
}

const DIRECTIVE = /<directive\b(?:[^>"']|"[^"]*"|'[^']*')*>/

/** In front matter, else in the directive itself; a document with neither gets front matter. */
async function inDocument(text: string, version: string): Promise<string> {
  const tag = hasFrontMatter(text) ? null : DIRECTIVE.exec(text)
  if (tag === null) return editDocument(text, { version })
  return text.slice(0, tag.index) + inTag(tag[0], version) + text.slice(tag.index + tag[0].length)
}

function inTag(tag: string, version: string): string {
  const attribute = /(\sversion\s*=\s*)(?:"[^"]*"|'[^']*')/
  if (attribute.test(tag)) return tag.replace(attribute, (_, before: string) => `${before}"${version}"`)
  return tag.replace(/\s*\/?>$/, (end) => ` version="${version}"${end}`)
}
