// Draws the line of a route on a map; the page is complete without it.
const container = document.querySelector("[data-map-style]")

const LINE = { light: "#0b5cad", dark: "#1d6fd1" }

// Without WebGL, or without the style's server, the picture below is the map.
const hideMap = () => {
  container.dataset.state = "failed"
  container.hidden = true
}

const main = async () => {
  const { library, line, mapStyle, worker } = container.dataset
  const [{ AttributionControl, LngLatBounds, Map, NavigationControl, ScaleControl, setWorkerUrl }, route] = await Promise
    .all([import(library), fetch(line).then((response) => response.json())])
  const { geometry = [], segments = [0], waypoints = [] } = route
  const positions = geometry.length > 0 ? geometry : waypoints.map(({ coord }) => coord)
  if (positions.length === 0) return
  setWorkerUrl(new URL(worker, location.href).href)
  container.hidden = false
  const bounds = positions.reduce((bounds, [lng, lat]) => bounds.extend([lng, lat]), new LngLatBounds())
  const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches
  const map = new Map({
    container,
    style: mapStyle,
    bounds,
    fitBoundsOptions: { padding: 40, maxZoom: 15 },
    // A page must still scroll under a finger or a wheel.
    cooperativeGestures: true,
    attributionControl: false,
    fadeDuration: isStill ? 0 : 300
  })
  map.addControl(new AttributionControl({ compact: false, customAttribution: container.dataset.attribution ?? "" }))
  map.addControl(new NavigationControl({ showCompass: false }))
  map.addControl(new ScaleControl())
  // A missing tile later is no reason to take the map away.
  map.on("error", () => {
    if (container.dataset.state === undefined) hideMap()
  })
  map.on("load", () => {
    container.dataset.state = "loaded"
    const features = [
      // Nothing is drawn between two parts of the line.
      ...segments.map((start, index) => ({
        type: "Feature",
        properties: {},
        geometry: { type: "LineString", coordinates: positions.slice(start, segments[index + 1]) }
      })),
      { type: "Feature", properties: { end: "end" }, geometry: { type: "Point", coordinates: positions.at(-1) } },
      { type: "Feature", properties: { end: "start" }, geometry: { type: "Point", coordinates: positions[0] } }
    ]
    map.addSource("route", { type: "geojson", data: { type: "FeatureCollection", features } })
    const isLine = ["==", ["geometry-type"], "LineString"]
    const layout = { "line-cap": "round", "line-join": "round" }
    const line = (id, color, width) => ({
      id,
      type: "line",
      source: "route",
      filter: isLine,
      layout,
      paint: { "line-color": color, "line-width": width }
    })
    map.addLayer(line("route-edge", "#ffffff", 7))
    map.addLayer(line("route-line", matchMedia("(prefers-color-scheme: dark)").matches ? LINE.dark : LINE.light, 4))
    map.addLayer({
      id: "route-ends",
      type: "circle",
      source: "route",
      filter: ["has", "end"],
      paint: {
        "circle-color": ["match", ["get", "end"], "start", "#1a7f37", "#b3261e"],
        "circle-radius": 7,
        "circle-stroke-color": "#ffffff",
        "circle-stroke-width": 2.5
      }
    })
    map.once("idle", () => {
      container.dataset.state = "drawn"
    })
  })
}

main().catch(hideMap)
