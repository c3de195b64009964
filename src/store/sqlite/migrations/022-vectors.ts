/** Texts of items are read without their parameters, so each has another hash. */
export const vectorsAnew = `
DELETE FROM search_hashes;
`
