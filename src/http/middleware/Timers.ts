import { Clock, Context, Effect, type Fiber, Function } from "effect"

export interface Timer {
  /** Milliseconds until it is due. */
  left(): number
  expire(): void
}

/**
 * Calls back when timers are due, by one fiber that sleeps until the first of them. It sleeps on where the last timer left, until
 * `rest`: where few requests are at work, almost each would begin another.
 */
export class Timers {
  private readonly timers = new Set<Timer>()
  private readonly clock: Clock.Clock
  private sleeper: Fiber.Fiber<void> | undefined
  private wakesAt = Infinity

  constructor(clock: Clock.Clock) {
    this.clock = clock
  }

  enter(timer: Timer) {
    this.timers.add(timer)
    this.sleepAtMost(timer.left())
  }

  leave(timer: Timer) {
    this.timers.delete(timer)
  }

  /** Says that a timer may be due earlier than before. */
  moved(timer: Timer) {
    if (this.timers.has(timer)) this.sleepAtMost(timer.left())
  }

  /** Ends the fiber that sleeps for no timer, since a process that has nothing else to do would not end before it. */
  rest() {
    if (this.timers.size > 0) return
    this.sleeper?.interruptUnsafe()
    this.sleeper = undefined
    this.wakesAt = Infinity
  }

  private sleepAtMost(milliseconds: number) {
    const wakesAt = this.clock.currentTimeMillisUnsafe() + milliseconds
    if (wakesAt >= this.wakesAt) return
    this.sleeper?.interruptUnsafe()
    this.wakesAt = wakesAt
    const wake = Effect.delay(Effect.sync(() => this.wake()), milliseconds)
    this.sleeper = Effect.runForkWith(Context.make(Clock.Clock, this.clock))(wake)
  }

  private wake() {
    this.sleeper = undefined
    this.wakesAt = Infinity
    let next = Infinity
    for (const timer of this.timers) {
      const left = timer.left()
      if (left > 0) next = Math.min(next, left)
      else {
        this.timers.delete(timer)
        timer.expire()
      }
    }
    if (this.timers.size > 0) this.sleepAtMost(next)
  }
}

/** Of a server's clock, which a test may move. */
export const timersOf = Function.memoize((clock: Clock.Clock) => new Timers(clock))
