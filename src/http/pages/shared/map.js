// Draws the line of a route on a map, in place of its picture. The page is complete without it.
const container = document.querySelector("[data-map-style]")
const drawing = container.closest(".drawing")

const COLOURS = { light: "#0b5cad", dark: "#1d6fd1", start: "#1a7f37", end: "#b3261e", edge: "#ffffff", stop: "#3a4048" }

// Without WebGL, or without the style's server, the picture is the map.
const leavePicture = () => {
  if (container.dataset.state === "shown" || container.dataset.state === "drawn") return
  container.dataset.state = "failed"
  container.hidden = true
}

// An encoded polyline with five decimals, latitude first.
const decoded = (text) => {
  const positions = []
  let index = 0
  const next = () => {
    let value = 0
    let shift = 0
    let bits
    do {
      bits = text.charCodeAt(index++) - 63
      value += (bits & 31) * 2 ** shift
      shift += 5
    } while (bits >= 32)
    return value % 2 === 1 ? -(value + 1) / 2 : value / 2
  }
  let [lat, lng] = [0, 0]
  while (index < text.length) {
    lat += next()
    lng += next()
    positions.push([lng / 1e5, lat / 1e5])
  }
  return positions
}

// The indexes at which the parts of a line begin.
const startsOf = (parts) => {
  const starts = new Set()
  let index = 0
  for (const part of parts) {
    starts.add(index)
    index += part.length
  }
  return starts
}

const split = (line, starts) =>
  [...starts].map((start, part, all) => line.slice(start, all[part + 1]))

// A line across the antimeridian goes on past 180 degrees.
const unrolled = (positions) => {
  let previous = positions[0][0]
  return positions.map(([lng, lat]) => {
    previous = lng + 360 * Math.round((previous - lng) / 360)
    return [previous, lat]
  })
}

const radians = (degrees) => degrees * Math.PI / 180

// The line is perhaps thinned, so that it is shorter than what the profile and the list measure.
const along = (steps) => {
  let metres = 0
  return steps.split(" ").map((step) => metres += Number(step))
}

const positionAt = (line, metres, wanted) => {
  let [low, high] = [0, line.length - 1]
  while (low < high) {
    const middle = (low + high) >> 1
    if (metres[middle] < wanted) low = middle + 1
    else high = middle
  }
  if (low === 0) return line[0]
  const share = (wanted - metres[low - 1]) / (metres[low] - metres[low - 1] || 1)
  return [0, 1].map((axis) => line[low - 1][axis] + Math.min(share, 1) * (line[low][axis] - line[low - 1][axis]))
}

// The metres along the line of its nearest position.
const metresAt = (line, starts, metres, { lat, lng }) => {
  const scale = Math.cos(radians(lat))
  let nearest = { squared: Infinity, at: 0 }
  for (let index = 1; index < line.length; index++) {
    if (starts.has(index)) continue
    const [fromX, fromY] = [(line[index - 1][0] - lng) * scale, line[index - 1][1] - lat]
    const [byX, byY] = [(line[index][0] - line[index - 1][0]) * scale, line[index][1] - line[index - 1][1]]
    const share = Math.min(Math.max(-(fromX * byX + fromY * byY) / (byX * byX + byY * byY || 1), 0), 1)
    const squared = (fromX + share * byX) ** 2 + (fromY + share * byY) ** 2
    if (squared < nearest.squared) {
      nearest = { squared, at: metres[index - 1] + share * (metres[index] - metres[index - 1]) }
    }
  }
  return nearest.at
}

// Icons are drawn here: those of a style have other names in each style.
const icon = (side, draw) => {
  const canvas = new OffscreenCanvas(2 * side, 2 * side)
  const context = canvas.getContext("2d")
  context.scale(2, 2)
  context.lineWidth = 2.5
  context.lineJoin = "round"
  context.strokeStyle = COLOURS.edge
  draw(context)
  return context.getImageData(0, 0, 2 * side, 2 * side)
}

const filled = (colour, shape) => (context) => {
  context.beginPath()
  shape(context)
  context.fillStyle = colour
  context.fill()
  context.stroke()
}

const lineColour = matchMedia("(prefers-color-scheme: dark)").matches ? COLOURS.dark : COLOURS.light

const makeIcons = () => ({
  "route-start": icon(20, filled(COLOURS.start, (context) => context.arc(10, 10, 7.5, 0, 7))),
  "route-end": icon(20, filled(COLOURS.end, (context) => context.roundRect(3, 3, 14, 14, 2))),
  // It is wider than the line, and points along it.
  "route-arrow": icon(
    18,
    filled(lineColour, (context) => {
      context.moveTo(4, 2.5)
      context.lineTo(15.5, 9)
      context.lineTo(4, 15.5)
      context.closePath()
    })
  )
})

const point = (coordinates, properties) => ({ type: "Feature", properties, geometry: { type: "Point", coordinates } })

// A stop without a position is on the line.
const stops = (line, metres) =>
  [...document.querySelectorAll("[data-stop]")].map((stop) => {
    const [at, ...position] = stop.dataset.stop.split(" ").map(Number)
    return point(position.length === 0 ? positionAt(line, metres, at) : position, {
      kind: stop.className,
      text: stop.textContent.replaceAll(/\s+/g, " ")
    })
  })

const collection = (features) => ({ type: "geojson", data: { type: "FeatureCollection", features } })

const addRoute = (map, line, starts, metres) => {
  for (const [name, image] of Object.entries(makeIcons())) map.addImage(name, image, { pixelRatio: 2 })
  map.addSource("route", {
    type: "geojson",
    data: { type: "Feature", properties: {}, geometry: { type: "MultiLineString", coordinates: split(line, starts) } }
  })
  map.addSource("route-ends", collection([point(line.at(-1), { icon: "route-end" }), point(line[0], { icon: "route-start" })]))
  map.addSource("route-stops", collection(stops(line, metres)))
  map.addSource("route-position", collection([]))
  const layout = { "line-cap": "round", "line-join": "round" }
  const stroke = (id, color, width) =>
    map.addLayer({
      id,
      type: "line",
      source: "route",
      layout,
      paint: { "line-color": color, "line-width": width }
    })
  stroke("route-edge", COLOURS.edge, 8)
  stroke("route-line", lineColour, 5)
  map.addLayer({
    id: "route-direction",
    type: "symbol",
    source: "route",
    layout: {
      "symbol-placement": "line",
      "symbol-spacing": 120,
      "icon-image": "route-arrow",
      "icon-allow-overlap": true,
      "icon-ignore-placement": true
    }
  })
  const circle = (id, source, more, paint) => map.addLayer({ id, type: "circle", source, ...more, paint })
  const outlined = { "circle-color": COLOURS.edge, "circle-stroke-color": COLOURS.stop, "circle-stroke-width": 2 }
  circle("route-cues", "route-stops", { filter: ["==", "kind", "cue"], minzoom: 11 }, { ...outlined, "circle-radius": 3.5 })
  circle("route-waypoints", "route-stops", { filter: ["==", "kind", "waypoint"] }, { ...outlined, "circle-radius": 6 })
  map.addLayer({
    id: "route-ends",
    type: "symbol",
    source: "route-ends",
    layout: { "icon-image": ["get", "icon"], "icon-allow-overlap": true, "icon-ignore-placement": true }
  })
  circle("route-position", "route-position", {}, {
    "circle-color": COLOURS.stop,
    "circle-radius": 7,
    "circle-stroke-color": COLOURS.edge,
    "circle-stroke-width": 3
  })
}

const REACH_PIXELS = 24

const link = (map, line, starts, metres, Popup) => {
  const show = (at) => drawing.dispatchEvent(new CustomEvent("position", { detail: at }))
  drawing.addEventListener("position", ({ detail }) => {
    const features = detail === null ? [] : [point(positionAt(line, metres, detail), {})]
    map.getSource("route-position").setData(collection(features).data)
  })
  const follow = ({ lngLat, point }) => {
    const near = metresAt(line, starts, metres, { lat: lngLat.lat, lng: lngLat.lng + 360 * Math.round((line[0][0] - lngLat.lng) / 360) })
    const { x, y } = map.project(positionAt(line, metres, near))
    show(Math.hypot(x - point.x, y - point.y) <= REACH_PIXELS ? near : undefined)
  }
  map.on("mousemove", follow)
  map.on("click", follow)
  map.on("mouseout", () => show(undefined))
  const popup = new Popup({ closeButton: false, offset: 10 })
  const name = ({ features: [{ geometry, properties }] }) =>
    popup.setLngLat(geometry.coordinates).setText(properties.text).addTo(map)
  for (const layer of ["route-cues", "route-waypoints"]) {
    map.on("mousemove", layer, name)
    map.on("click", layer, name)
    map.on("mouseleave", layer, () => popup.remove())
  }
}

const styled = (href) =>
  new Promise((onload, onerror) => {
    document.head.append(Object.assign(document.createElement("link"), { rel: "stylesheet", href, onload, onerror }))
  })

// Where there is no mouse, the picture is enough until its reader does something.
const used = new Promise((resolve) => {
  if (!matchMedia("(hover: none)").matches) resolve()
  for (const sign of ["pointerdown", "scroll", "keydown"]) addEventListener(sign, resolve, { once: true, passive: true })
})

// A map takes much of a phone: it waits until the page is there and at rest, and the place of the map is near the screen.
const wanted = async () => {
  await used
  if (document.readyState !== "complete") await new Promise((resolve) => addEventListener("load", resolve, { once: true }))
  await new Promise((resolve) => window.requestIdleCallback?.(resolve, { timeout: 2000 }) ?? setTimeout(resolve, 200))
  await new Promise((resolve) => {
    const observer = new IntersectionObserver((entries) => {
      if (!entries.some(({ isIntersecting }) => isIntersecting)) return
      observer.disconnect()
      resolve()
    }, { rootMargin: "50%" })
    observer.observe(drawing)
  })
}

const main = async () => {
  const { attribution = "", controls, library, line: encoded, mapStyle, steps, styles, worker } = container.dataset
  if (encoded === "") return
  await wanted()
  const parts = encoded.split(" ").map(decoded)
  const line = unrolled(parts.flat())
  const starts = startsOf(parts)
  const metres = along(steps)
  const [maplibre] = await Promise.all([import(library), styled(styles)])
  const { AttributionControl, FullscreenControl, LngLatBounds, Map, NavigationControl, Popup, ScaleControl } = maplibre
  maplibre.setWorkerUrl(new URL(worker, location.href).href)
  container.dataset.state = "loading"
  container.hidden = false
  const bounds = line.reduce((bounds, position) => bounds.extend(position), new LngLatBounds())
  const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches
  const map = new Map({
    container,
    style: mapStyle,
    bounds,
    fitBoundsOptions: { padding: 40, maxZoom: 15 },
    // A page must still scroll under a finger or a wheel.
    cooperativeGestures: true,
    attributionControl: false,
    locale: JSON.parse(controls),
    fadeDuration: isStill ? 0 : 300
  })
  map.addControl(new AttributionControl({ compact: false, customAttribution: attribution }))
  map.addControl(new NavigationControl({ showCompass: false }))
  map.addControl(new FullscreenControl({ container: drawing }))
  map.addControl(new ScaleControl({ unit: drawing.dataset.units }))
  // Later errors are those of a tile, a font or an icon: its place stays empty.
  map.on("error", leavePicture)
  map.once("style.load", () => {
    addRoute(map, line, starts, metres)
    link(map, line, starts, metres, Popup)
    container.dataset.state = "shown"
    map.once("idle", () => {
      container.dataset.state = "drawn"
    })
  })
}

main().catch(leavePicture)
