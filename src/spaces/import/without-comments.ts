/** The configs of some clients hold comments, and commas before a closing bracket. */
export function withoutComments(text: string): string {
  return text
    .replace(/^\uFEFF/, '')
    .replaceAll(/"(?:[^"\\\n]|\\.)*"|\/\/[^\n]*|\/\*[^]*?\*\//g, (part) =>
      part.startsWith('"') ? part : ' ',
    )
    .replaceAll(/"(?:[^"\\\n]|\\.)*"|,(?=\s*[}\]])/g, (part) => (part === ',' ? ' ' : part))
}
