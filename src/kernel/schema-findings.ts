import type { Chain } from '../chain/chain.ts'
import { isJsonObject } from '../shared/json.ts'
import { openTurns } from '../shared/take-turns.ts'
import { isSchemaFinding, uncallableFinding, uncheckedFinding } from '../spaces/definitions/schema-finding.ts'
import type { CatalogTool } from '../store/catalog.ts'

/** The same tools, those marked whose arguments cannot be checked, or that cannot be called at all for what their schema costs. */
export async function withSchemaFindings(
  tools: readonly CatalogTool[],
  before: readonly CatalogTool[],
  { schemaFault }: Pick<Chain, 'schemaFault'>,
): Promise<readonly CatalogTool[]> {
  const known = new Map(before.map((tool) => [tool.name, tool]))
  const turn = openTurns()
  const marked: CatalogTool[] = []
  for (const tool of tools) {
    await turn()
    const same = known.get(tool.name)
    const found =
      same?.pin === tool.pin ? same.findings.filter(isSchemaFinding) : await findingsOf(tool, schemaFault)
    const others = tool.findings.filter((finding) => !isSchemaFinding(finding))
    marked.push(found.length === 0 ? tool : { ...tool, findings: [...others, ...found] })
  }
  return marked
}

async function findingsOf(
  { raw: { inputSchema }, state }: CatalogTool,
  schemaFault: Chain['schemaFault'],
): Promise<readonly string[]> {
  if (!isJsonObject(inputSchema) || (state !== 'usable' && state !== 'quarantined')) return []
  const fault = await schemaFault(inputSchema)
  if (fault === null) return []
  const reason = fault.message.replace(/^Cannot use its schema: /, '')
  return [fault.code === 'INVALID_MANIFEST' ? uncheckedFinding(reason) : uncallableFinding(reason)]
}
