const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
/** What does not close in time is left to the watchdog of the children and to the system. */
const LONGEST_MS = 4500

/** Runs until a signal comes or `ended` resolves, then closes everything and lets the process go. */
export async function untilEnded(ended: Promise<void>, close: () => Promise<void>): Promise<void> {
  await Promise.race([
    ended,
    ...SIGNALS.map((signal) => new Promise<void>((resolve) => process.once(signal, () => resolve()))),
  ])
  setTimeout(() => process.exit(1), LONGEST_MS).unref()
  await close()
  process.exit(0)
}
