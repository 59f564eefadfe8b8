import { Duration } from "effect"
import { HttpServerResponse } from "effect/http"
import { DEVICE_LIFETIME } from "../../services/credentials/Devices.ts"
import { COOKIE_ATTRIBUTES } from "./SessionCookie.ts"

/** Identifies a device that signed in before; grants no access. */
export const DEVICE_COOKIE = "__Host-service_device"

export const setDeviceCookie = (token: string) => (response: HttpServerResponse.HttpServerResponse) =>
  HttpServerResponse.setCookieUnsafe(response, DEVICE_COOKIE, token, {
    ...COOKIE_ATTRIBUTES,
    maxAge: Duration.toMillis(DEVICE_LIFETIME)
  })
