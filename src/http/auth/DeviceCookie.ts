import { Duration } from "effect"
import { HttpServerResponse } from "effect/http"
import { DEVICE_LIFETIME } from "../../services/credentials/Devices.ts"
import { COOKIE_ATTRIBUTES } from "./SessionCookie.ts"

/** The name of the cookie by which a device that signed in before is known again. It signs nobody in. */
export const DEVICE_COOKIE = "__Host-service_device"

export const setDeviceCookie = (token: string) => (response: HttpServerResponse.HttpServerResponse) =>
  HttpServerResponse.setCookieUnsafe(response, DEVICE_COOKIE, token, {
    ...COOKIE_ATTRIBUTES,
    maxAge: Duration.toMillis(DEVICE_LIFETIME)
  })
