import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { anonymous } from "../support/Actors.ts"
import { ask, lastAsked, REQUEST, serverLayer, TRIP } from "../support/RoutingCalls.ts"
import { json, StandInEngine } from "../support/StandInEngine.ts"

/** The engine sends a maneuver so, with what a client does not get. */
const maneuver = (begin_shape_index: number, type: number, instruction: string) => ({
  type,
  instruction,
  begin_shape_index,
  end_shape_index: begin_shape_index + 1,
  length: 1.5,
  time: 60,
  cost: 7,
  verbal_pre_transition_instruction: instruction,
  travel_mode: "bicycle"
})

const shown = (begin_shape_index: number, type: number, instruction: string) => ({
  length: 1.5,
  time: 60,
  type,
  instruction,
  begin_shape_index
})

const tripOf = (...maneuvers: ReadonlyArray<ReadonlyArray<ReturnType<typeof maneuver>>>) =>
  json({
    trip: {
      ...TRIP.trip,
      legs: TRIP.trip.legs.map(({ shape, summary }, index) => ({ shape, summary, maneuvers: maneuvers[index] ?? [] }))
    }
  })

const TURNS = tripOf([maneuver(0, 1, "Losfahren."), maneuver(1, 4, "Ankommen.")], [maneuver(0, 1, "x".repeat(600))])

layer(serverLayer())("directions", (it) => {
  it.effect("are maneuvers of all legs, with indexes into their joined line", () =>
    Effect.gen(function*() {
      yield* (yield* StandInEngine).behave(TURNS)
      const { body } = yield* ask({ ...REQUEST, directions: true, language: "de" })
      assert.deepInclude(body, {
        maneuvers: [shown(0, 1, "Losfahren."), shown(1, 4, "Ankommen."), shown(1, 1, "x".repeat(500))]
      })
      assert.deepInclude(yield* lastAsked, { directions_type: "instructions", language: "de-DE" })
      assert.notProperty((yield* ask(REQUEST)).body, "maneuvers")
    }))

  it.effect("may be requested in the query", () =>
    Effect.gen(function*() {
      yield* (yield* StandInEngine).behave(TURNS)
      const visitor = yield* anonymous
      const { body } = yield* visitor.post("/routing/route?directions=true&language=pt-BR", REQUEST)
      assert.property(body, "maneuvers")
      assert.deepInclude(yield* lastAsked, { directions_type: "instructions", language: "pt-BR" })
    }))

  it.effect("in an unknown language are refused with those that are known", () =>
    Effect.gen(function*() {
      const { status, text } = yield* ask({ ...REQUEST, directions: true, language: "tlh" })
      assert.strictEqual(status, 400)
      for (const known of ["language", "\\\"de\\\"", "\\\"de-DE\\\"", "\\\"vi-VN\\\""]) assert.include(text, known)
    }))

  it.effect("with an index outside the polyline are left out of the response", () =>
    Effect.gen(function*() {
      yield* (yield* StandInEngine).behave(tripOf([maneuver(2, 1, "Losfahren.")]))
      assert.strictEqual((yield* ask({ ...REQUEST, directions: true, language: "fr" })).status, 502)
    }))
})
