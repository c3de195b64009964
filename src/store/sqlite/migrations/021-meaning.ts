/** The table of words is another once more: what each item is about is worked out anew. */
export const meaningLearnt = `
UPDATE search_vectors SET vector = x'';
`
