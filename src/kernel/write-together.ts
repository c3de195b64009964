import { messageOf } from '../shared/errors.ts'
import { stampAt } from '../spaces/scan.ts'
import type { ItemWrite } from '../spaces/write.ts'
import { removeItem, writeItem } from '../spaces/write.ts'
import { writtenOf } from '../spaces/written-item.ts'
import type { Discovering, Step } from './discovery-steps.ts'
import { newPlace, samePlace } from './place.ts'
import { writeSigned } from './write-signed.ts'

interface WrittenTogether {
  /** Where each item lies that was written. */
  readonly paths: ReadonlyMap<string, string>
  readonly warnings: readonly string[]
}

/** Writes all of them or none: where one fails, what was written before it is taken back. */
export async function writeTogether(
  steps: readonly Step[],
  { location, lookup, means, by }: Discovering,
): Promise<WrittenTogether> {
  const takeBack: (() => Promise<unknown>)[] = []
  const warnings: string[] = []
  const paths = new Map<string, string>()
  // Looking at all files after each of them would take the longer the more there are.
  const quiet = { ...lookup, freshen: () => undefined }
  const exclusively: Parameters<typeof writeItem>[1] = (work) => means.store.exclusively(work)
  try {
    for (const { authored, before } of steps) {
      if (authored === null) continue
      const { item, written } = authored
      const place = { location, lookup, means }
      const write: ItemWrite =
        before === null
          ? newPlace(item, written, place)
          : samePlace({ item: before, stamp: stampOf(before.path) }, written, place)
      const present = before === null ? null : await writtenOf(before)
      const made = await writeSigned(authored, { write, changelog: null, lookup: quiet, means, by })
      const { path } = made.item
      if (path !== null) paths.set(item.id, path)
      takeBack.push(async () => {
        if (present !== null) {
          const manifest = { ...write.manifest, content: present.manifest.content }
          await writeItem({ ...write, manifest, replaces: 'any' }, exclusively)
        } else if (path !== null) await removeItem(path, false, write.within)
      })
      warnings.push(...made.warnings)
    }
    return { paths, warnings }
  } catch (error) {
    for (const undo of takeBack.toReversed())
      await undo().catch((fault: unknown) =>
        means.log.error('discover.not_taken_back', { reason: messageOf(fault) }),
      )
    throw error
  } finally {
    lookup.freshen(true)
  }
}

function stampOf(path: string | null): string | null {
  return path === null ? null : stampAt({ path, kind: 'manifest', beside: [] })
}
