const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
/** What does not close in time is left to the watchdog of the children and to the system. */
const LONGEST_MS = 4500

/** A fault that nothing caught costs the call it belonged to, not the other clients; it is said on standard error. */
function surviveFaults(): void {
  process.on('uncaughtException', (error) => {
    // Nobody listens any more: what is left to do is to end, which the closed input brings about.
    if ('code' in error && error.code === 'EPIPE') return
    const { name, message, stack } = error
    process.stderr.write(`${JSON.stringify({ level: 'error', event: 'fault', name, message, stack })}\n`)
  })
}

/** Runs until a signal comes or `ended` resolves, then closes everything and lets the process go. */
export async function untilEnded(ended: Promise<void>, close: () => Promise<void>): Promise<void> {
  surviveFaults()
  await Promise.race([
    ended,
    ...SIGNALS.map((signal) => new Promise<void>((resolve) => process.once(signal, () => resolve()))),
  ])
  setTimeout(() => process.exit(1), LONGEST_MS).unref()
  await close()
  process.exit(0)
}
