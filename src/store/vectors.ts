import type { SpaceName } from './store.ts'

/** What texts mean, as numbers: one vector for each text and model, whichever items have that text. */
export interface Vectors {
  /** How far a model has come in these places, and some texts that it has no vector of. */
  missing(model: string, places: readonly VectorPlace[], limit: number): Promise<Missing>
  /** TOOL_FAILED when they are longer or shorter than the others of their model. */
  put(model: string, made: readonly MadeVector[]): Promise<void>
  /** Those that came behind this one, in the order in which they came. */
  after(model: string, id: number, limit: number): Promise<readonly StoredVector[]>
  /** The rows of the search index whose texts these vectors are of, in the same order; several may have one text. */
  rowsOf(ids: readonly number[]): Promise<readonly { readonly row: number; readonly id: number }[]>
  /** Notes that a model is in use, and drops what others made that are not any more. */
  keep(model: string, now: number): Promise<void>
  /** Drops what no item has the text of any more. */
  prune(model: string): Promise<void>
  /** The turn to make vectors, until a time; null while another process has it, or while a failure is waited out. */
  claim(model: string, claim: VectorClaim): Promise<{ readonly failures: number } | null>
  /** Gives the turn back, with what went wrong if something did. */
  release(model: string, holder: string, failure: VectorFailure | null): Promise<void>
  /** What last went wrong; null when nothing did. */
  failure(model: string): Promise<VectorFailure | null>
}

/** A space and the folder or upstream of it; the store itself has none. */
export interface VectorPlace {
  readonly space: SpaceName
  readonly root: string
}

export interface Missing {
  /** Different texts of the items there, and how many of them have a vector. */
  readonly texts: number
  readonly made: number
  /** Numbers of each vector of the model; null when it has made none. */
  readonly dims: number | null
  /** Vectors of the model in all places. */
  readonly stored: number
  readonly some: readonly MissingText[]
}

export interface MissingText {
  readonly hash: string
  readonly text: string
  /** One of the items that have it. */
  readonly itemId: string
}

export interface MadeVector {
  readonly hash: string
  readonly vec: Float32Array
}

export interface StoredVector {
  readonly id: number
  readonly vec: Float32Array
}

interface VectorClaim {
  readonly holder: string
  readonly now: number
  readonly until: number
}

export interface VectorFailure {
  readonly error: string
  /** Milliseconds since 1970: before that it is not tried again. */
  readonly retryAt: number
}
