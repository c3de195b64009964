/** Makes vectors of texts. Search is given one and never sees how it does it. */
export interface Embedder {
  /** What tells its vectors from those of any other: the tool, its content and the model. */
  identity(): Promise<string>
  /** One vector for each text, all of one length. */
  embed(order: EmbedOrder, signal?: AbortSignal): Promise<readonly Float32Array[]>
}

export interface EmbedOrder {
  /** Some models make vectors of questions otherwise than of what answers them. */
  readonly kind: 'query' | 'document'
  readonly texts: readonly string[]
  /** Ids of the items they belong to, for the record; none for a query. */
  readonly about: readonly string[]
}
