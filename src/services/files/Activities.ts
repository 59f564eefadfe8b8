import type { Activity } from "../../schema/Preferences.ts"

/** What common exporters write for a sport, in lower case and without anything but letters. */
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

/** The activity that a file's word for a sport means, if it is one of ours. */
export const activityOf = (sport: string): Activity | undefined => {
  const word = sport.toLowerCase().replace(/[^a-z]/g, "")
  return ACTIVITIES.find((activity) => WORDS[activity].includes(word))
}
