/** What a parameter can be. */
export const PARAMETER_TYPES = ['string', 'number', 'integer', 'boolean', 'array', 'object', 'any'] as const
