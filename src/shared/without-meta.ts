/** The parameters of a request without what goes along with every one. */
export function withoutMeta<T extends { readonly _meta?: unknown }>(params: T): Omit<T, '_meta'> {
  const { _meta: _, ...asked } = params
  return asked
}
