/** The table of words is another: what each item is about is worked out anew. */
export const meaningAnew = `
UPDATE search_vectors SET vector = x'';
`
