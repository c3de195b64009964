/** Waits until work has ended, however it did, but no longer than this. */
export async function endedWithin(work: Promise<unknown>, milliseconds: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, Math.max(0, milliseconds))
  })
  await Promise.race([work.catch(() => undefined), late])
  clearTimeout(timer)
}
