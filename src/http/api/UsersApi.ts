import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Profile } from "../../schema/User.ts"
import { Authentication } from "./Authentication.ts"

const aboutMe = "The caller's account, with statistics: `totalDistance` is in metres, over live routes."

export class UsersApi extends HttpApiGroup.make("users")
  .add(
    HttpApiEndpoint.get("me", "/me", { success: Profile }).annotate(OpenApi.Description, aboutMe),
    HttpApiEndpoint.get("profile", "/profile", { success: Profile }).annotate(
      OpenApi.Description,
      "Another name of `GET /users/me`."
    )
  )
  .middleware(Authentication)
  .prefix("/users")
  .annotate(OpenApi.Description, "Accounts as their owners see them.")
{}
