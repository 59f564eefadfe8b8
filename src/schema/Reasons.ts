/** `details.reason` of an error, where its class and status leave the cause open. */
export const REASONS = {
  tooFar: "too_far",
  tooManyPoints: "too_many_points",
  tooManyLocations: "too_many_locations",
  noPath: "no_path",
  noRoad: "no_road_near_location",
  signUpDisabled: "signup_disabled",
  providerDisabled: "provider_sign_in_disabled",
  duplicateRoute: "duplicate_route",
  tokenMalformed: "token_malformed",
  tokenUnknown: "token_unknown",
  tokenRevoked: "token_revoked",
  tokenExpired: "token_expired",
  accountPendingDeletion: "account_pending_deletion",
  cursorExpired: "cursor_expired",
  downloadNotAllowed: "download_not_allowed",
  passwordNeeded: "password_needed",
  passwordWrong: "password_wrong"
} as const
