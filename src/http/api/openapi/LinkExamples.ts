export const LINK_EXAMPLES: Readonly<Record<string, unknown>> = {
  ElevationAnswer: { geometry: [[9.5209, 47.1415, 455], [9.5254, 47.144, 461.3]], filled: 1, missing: 0 },
  ElevationProfile: { distance: 441.2, points: [{ distance: 0, height: 455 }, { distance: 441.2, height: 461.3 }] },
  ElevationRequest: { geometry: [[9.5209, 47.1415, 455], [9.5254, 47.144]] },
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
