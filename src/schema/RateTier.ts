export const RATE_TIERS = { auth: 5, strict: 10, moderate: 60, default: 300 } as const

export type RateTier = keyof typeof RATE_TIERS

export const RATE_WINDOW_SECONDS = 60
