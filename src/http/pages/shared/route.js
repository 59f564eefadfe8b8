// Adds to the page of a route: the values at a position of its profile, which the map shows too, and buttons to share it.
const drawing = document.querySelector(".drawing")
const language = document.documentElement.lang

const show = (at) => drawing.dispatchEvent(new CustomEvent("position", { detail: at }))

/** Nobody reads `-0`. */
const decimal = (value, digits) =>
  value.toLocaleString(language, {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
    signDisplay: "negative"
  })

const written = (metres, [unit, name], digits) => `${decimal(metres / unit, digits)} ${name}`

const addProfile = (profile) => {
  const samples = JSON.parse(profile.dataset.profile)
  const length = samples.at(-1)[0]
  const plot = profile.querySelector(".plot")
  const cursor = profile.querySelector(".cursor")
  const readout = profile.querySelector(".readout")
  const [long, short] = [profile.dataset.long, profile.dataset.short].map((text) => text.split(" "))

  const sampleAt = (metres) => {
    const next = samples.findIndex(([at]) => at >= metres)
    if (next <= 0) return samples.at(next)
    const [before, after] = [samples[next - 1], samples[next]]
    return metres - before[0] < after[0] - metres ? before : after
  }

  let at = 0
  const draw = (metres) => {
    cursor.hidden = metres === undefined
    readout.textContent = ""
    if (metres === undefined) return
    at = Math.min(metres, length)
    const [, height, slope] = sampleAt(metres)
    const text = `${written(metres, long, 1)} · ${written(height, short, 0)} · ${decimal(slope, 0)} %`
    cursor.style.insetInlineStart = `${100 * at / length}%`
    readout.textContent = text
    plot.ariaValueNow = String(Math.round(at))
    plot.ariaValueText = text
  }
  drawing.addEventListener("position", ({ detail }) => draw(detail ?? undefined))

  plot.tabIndex = 0
  plot.role = "slider"
  plot.ariaLabel = profile.dataset.label
  plot.ariaValueMin = "0"
  plot.ariaValueMax = String(length)
  draw(0)
  draw(undefined)

  const follow = ({ clientX }) => {
    const { left, width } = plot.getBoundingClientRect()
    show(length * Math.min(Math.max((clientX - left) / width, 0), 1))
  }
  plot.addEventListener("pointermove", follow)
  plot.addEventListener("pointerdown", follow)
  // A finger that leaves keeps the position, a mouse does not.
  plot.addEventListener("pointerleave", ({ pointerType }) => pointerType === "mouse" && show(undefined))
  plot.addEventListener("focus", () => plot.matches(":focus-visible") && show(at))
  plot.addEventListener("blur", () => show(undefined))
  const steps = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10 }
  plot.addEventListener("keydown", (event) => {
    const ends = { Home: 0, End: length }
    const to = ends[event.key] ?? at + (steps[event.key] ?? Number.NaN) * length / 100
    if (Number.isNaN(to)) return
    event.preventDefault()
    show(Math.min(Math.max(to, 0), length))
  })
}

const showStop = ({ target }) => {
  const stop = target.closest("[data-stop]")
  if (stop !== null) show(Number(stop.dataset.stop.split(" ")[0]))
}

const addStops = (list) => {
  list.addEventListener("pointerover", showStop)
  list.addEventListener("pointerleave", () => show(undefined))
}

const addSharing = (section) => {
  const field = section.querySelector("input")
  const status = section.querySelector("[role=status]")
  const { copied } = section.querySelector("[data-copied]").dataset
  const copy = async () => {
    field.select()
    await navigator.clipboard.writeText(field.value)
    status.textContent = copied
  }
  const actions = {
    ...(navigator.clipboard === undefined ? {} : { copy }),
    ...(navigator.share === undefined ? {} : {
      share: () => navigator.share({ title: document.querySelector("h1").textContent, url: field.value })
    })
  }
  for (const button of section.querySelectorAll("[data-do]")) {
    const action = actions[button.dataset.do]
    button.hidden = action === undefined
    // A reader who closes the sheet of the system has not failed.
    button.addEventListener("click", () => action?.().catch(() => {}))
  }
}

for (const profile of document.querySelectorAll("[data-profile]")) addProfile(profile)
for (const list of document.querySelectorAll(".stops")) addStops(list)
for (const section of document.querySelectorAll(".share")) addSharing(section)
