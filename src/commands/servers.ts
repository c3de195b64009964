export async function serversCommand(options: { json?: boolean }): Promise<number> {
  void options
  return 0
}
