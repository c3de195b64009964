import type { Element } from '../../spaces/directive/element.ts'
import { readXml } from '../../spaces/directive/read-xml.ts'

/** A block of `<permissions>` by itself. */
export async function readPermissions(text: string, where: string): Promise<Element> {
  return (await readXml(text, where)).root
}
