/** What is known at once, or comes later. Most of what a call asks for is known, and waiting for it would cost more than it. */
export type Maybe<T> = T | Promise<T>

/** Goes on with it: at once where it is known. */
export function after<T, U>(value: Maybe<T>, goOn: (value: T) => Maybe<U>): Maybe<U> {
  return value instanceof Promise ? value.then(goOn) : goOn(value)
}
