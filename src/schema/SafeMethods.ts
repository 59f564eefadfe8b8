const SAFE = new Set(["GET", "HEAD", "OPTIONS"])

/** Whether a request only reads, by its method (RFC 9110, 9.2.1). */
export const isSafe = (method: string | undefined): boolean => method !== undefined && SAFE.has(method)
