const token = {
  id: 3,
  name: "backup script",
  scope: "read",
  hint: "k3Xz",
  createdAt: "2025-06-01T08:30:00.000Z",
  expiresAt: "2025-08-30T08:30:00.000Z",
  lastUsedAt: null
}

export const CREDENTIAL_EXAMPLES = {
  MintedToken: { ...token, token: "service_pat_7hK2mQ9xVbN4rT8wYc3sLpZ6dFgJ1aE5uHoRiXkM0eDf3aB9Xz" },
  TokenInput: { name: "backup script", scope: "read", expiresInDays: 90 },
  PersonalAccessToken: token,
  Credential: {
    kind: "token",
    scope: "read",
    name: "laptop",
    expiresAt: "2026-12-01T08:30:00.000Z",
    user: { id: 7, handle: "ada" },
    limits: [{ tier: "default", limit: 300, windowSeconds: 60 }]
  },
  RateTierLimit: { tier: "default", limit: 300, windowSeconds: 60 }
}
