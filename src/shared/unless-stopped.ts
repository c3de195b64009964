import type { Stop } from './stop.ts'

/** Begins or joins work that several wait for. Whoever stops leaves at once, with the error that says so; the work goes on for the others. */
export async function unlessStopped<T>(
  join: () => Promise<T>,
  stop: Stop | undefined,
  error: () => Error,
): Promise<T> {
  if (stop === undefined) return join()
  if (stop.aborted) throw error()
  return new Promise((resolve, reject) => {
    const leave = (): void => reject(error())
    stop.addEventListener('abort', leave, { once: true })
    join()
      .then(resolve, reject)
      .finally(() => stop.removeEventListener('abort', leave))
  })
}
