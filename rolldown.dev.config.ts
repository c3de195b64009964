import type { BuildOptions } from 'rolldown'

/** What developers start with plain Node: the benchmarks and the generator of the reference. */
export default {
  input: {
    bench: 'bench/bench.ts',
    search: 'bench/search.ts',
    'generate-docs': 'scripts/generate-docs.ts',
  },
  platform: 'node',
  external: [/^node:/, '@photostructure/sqlite', '@napi-rs/keyring'],
  transform: { target: 'node20' },
  output: { dir: 'dist-dev', format: 'esm', sourcemap: true, cleanDir: true },
} satisfies BuildOptions
