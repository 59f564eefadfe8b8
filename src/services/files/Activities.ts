import type { Activity } from "../../schema/Preferences.ts"

const WORDS: Readonly<Record<Activity, ReadonlyArray<string>>> = {
  cycle: [
    "cycle",
    "cycling",
    "bike",
    "biking",
    "bicycle",
    "bicycling",
    "ride",
    "riding",
    "biker",
    "roadbike",
    "roadbiking",
    "roadcycling",
    "mountainbike",
    "mountainbiking",
    "mtb",
    "mtbride",
    "gravel",
    "gravelride",
    "gravelcycling",
    "ebike",
    "ebiking",
    "ebikeride",
    "emountainbikeride",
    "mountainbikeride",
    "virtualride",
    "touringbicycle",
    "racebike",
    "trekkingbike",
    "indoorcycling"
  ],
  run: ["run", "running", "jog", "jogging", "trailrun", "trailrunning", "virtualrun", "treadmillrunning"],
  walk: [
    "walk",
    "walking",
    "hike",
    "hiking",
    "foot",
    "onfoot",
    "pedestrian",
    "trekking",
    "nordicwalking",
    "hikingtrail"
  ]
}

const ACTIVITIES: ReadonlyArray<Activity> = ["cycle", "run", "walk"]

export const activityOf = (sport: string): Activity | undefined => {
  const word = sport.toLowerCase().replace(/[^a-z]/g, "")
  return ACTIVITIES.find((activity) => WORDS[activity].includes(word))
}
