export const LINK_EXAMPLES: Readonly<Record<string, unknown>> = {
  Maneuver: {
    instruction: "Turn right onto Landstrasse.",
    type: 10,
    begin_shape_index: 1,
    length: 0.612,
    time: 149.8
  },
  ShareLink: {
    id: 9,
    label: "Sunday ride",
    token: "c2f0b3967d5f2d8c1e9b7a4036a1c4e8",
    allowDownload: true,
    expiresAt: "2025-07-01T08:30:00.000Z",
    createdAt: "2025-06-01T08:30:00.000Z",
    lastUsedAt: null,
    uses: 0
  },
  ShareLinkInput: { label: "Sunday ride", expiresAt: "2025-07-01T08:30:00Z" },
  ShareLinkPatch: { expiresAt: null, allowDownload: false }
}
