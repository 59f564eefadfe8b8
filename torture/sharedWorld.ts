import { Effect, Option, Ref, Scope } from "effect"
import type { Keeper } from "./keeper.ts"
import { healed, type World, world } from "./world.ts"

/** One world, made at its first use, ready whenever it is given, and gone with the scope. */
export const sharedWorld = Effect.fnUntraced(function*(directory: string, keeper: Keeper) {
  const scope = yield* Effect.scope
  const made = yield* Ref.make(Option.none<World>())
  const given = Effect.gen(function*() {
    const known = yield* Ref.get(made)
    if (Option.isSome(known)) return yield* healed(known.value)
    const first = yield* Scope.provide(world(directory, keeper), scope)
    yield* Ref.set(made, Option.some(first))
    return first
  })
  return { given }
})
