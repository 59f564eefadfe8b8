import { Duration } from "effect"
import { HttpServerResponse } from "effect/http"
import { DEVICE_LIFETIME } from "../../services/accounts/Devices.ts"
import { DEVICE_COOKIE } from "../api/Authentication.ts"
import { COOKIE_ATTRIBUTES } from "./SessionCookie.ts"

export const setDeviceCookie = (token: string) => (response: HttpServerResponse.HttpServerResponse) =>
  HttpServerResponse.setCookieUnsafe(response, DEVICE_COOKIE, token, {
    ...COOKIE_ATTRIBUTES,
    maxAge: Duration.toMillis(DEVICE_LIFETIME)
  })
