import { Clock, Context, Effect, type Fiber, Function } from "effect"

interface Timer {
  /** Milliseconds until it is due. */
  left: () => number
  expire: () => void
}

const never = () => Infinity
const nothing = () => undefined

/** Calls back when timers are due, by one fiber that sleeps until the first of them, and none without timers. */
class Timers {
  private readonly timers = new Set<Timer>()
  private readonly clock: Clock.Clock
  private sleeper: Fiber.Fiber<void> | undefined
  private wakesAt = Infinity

  constructor(clock: Clock.Clock) {
    this.clock = clock
  }

  /** `moved` says that the timer is due earlier than before. */
  enter(left: () => number, expire: () => void): { readonly leave: () => void; readonly moved: () => void } {
    const timer = { left, expire }
    this.timers.add(timer)
    this.sleepAtMost(left())
    return {
      leave: () => {
        if (this.timers.delete(timer) && this.timers.size === 0) this.stop()
        // The set may refer to it for longer (decision 0018).
        timer.left = never
        timer.expire = nothing
      },
      moved: () => this.sleepAtMost(left())
    }
  }

  private stop() {
    this.sleeper?.interruptUnsafe()
    this.sleeper = undefined
    this.wakesAt = Infinity
  }

  private sleepAtMost(milliseconds: number) {
    const wakesAt = this.clock.currentTimeMillisUnsafe() + milliseconds
    if (wakesAt >= this.wakesAt) return
    this.stop()
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
