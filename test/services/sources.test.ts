import { assert, describe, it } from "@effect/vitest"
import { activityOfUpload, readActivities, readSummaries, sourceOf } from "../../src/services/archive/Sources.ts"

const digits = (count: number) => "1234567890".repeat(3).slice(0, count)

/** Returns a name of so many characters, with these at its start and its end. */
const nameOf = (length: number, start: string, end: string) => start.padEnd(length - end.length, "x") + end

describe("the source of a file in an archive", () => {
  const ofLink = (link: string) => sourceOf("a.gpx", { creator: "x", links: [link] }, undefined)

  it("is the page that it links to, with an id of 1 to 20 digits, without a query", () => {
    const pages: ReadonlyArray<readonly [page: string, provider: string, kind: string]> = [
      ["https://www.strava.com/activities/", "strava", ""],
      ["https://strava.com/routes/", "strava", "routes/"],
      ["https://connect.garmin.com/modern/activity/", "garmin", ""],
      ["https://connect.garmin.com/app/course/", "garmin", "course/"],
      ["https://connect.garmin.com/activity/", "garmin", ""],
      ["https://www.komoot.de/tour/", "komoot", ""],
      ["https://komoot.com/de/tour/", "komoot", ""],
      ["https://www.komoot.com/de-de/tour/", "komoot", ""],
      ["https://ridewithgps.com/routes/", "ridewithgps", "routes/"],
      ["https://www.ridewithgps.com/trips/", "ridewithgps", "trips/"]
    ]
    for (const [page, provider, kind] of pages) {
      for (const id of [digits(1), digits(20)]) {
        const source = { provider, externalId: `${kind}${id}`, url: `${page}${id}` }
        for (const rest of ["", "/", "/overview", "?share_token=secret"]) {
          assert.deepStrictEqual(ofLink(`${page}${id}${rest}`), source, `${page}${id}${rest}`)
        }
        assert.deepStrictEqual(ofLink(`${page.replace("https", "http")}${id}`), source)
      }
      for (const rest of ["", digits(21), "a", "1a"]) assert.isUndefined(ofLink(`${page}${rest}`), `${page}${rest}`)
    }
    for (
      const other of [
        "https://www.komoot.com/d/tour/1",
        "https://www.komoot.com/de-deu/tour/1",
        "ftp://strava.com/activities/1",
        "strava.com/activities/1"
      ]
    ) assert.isUndefined(ofLink(other), other)
    assert.isUndefined(sourceOf("a.gpx", { creator: "x", links: [] }, undefined))
  })

  it("is a page of wanderer on any host of at most 253 characters", () => {
    const id = "abcdefghij12345"
    const ofTrail = (host: string, rider: string, trail = id) =>
      ofLink(`https://${host}/trail/view/@${rider}/${trail}?share=secret`)
    const long = `${"h".repeat(126)}.${"h".repeat(126)}`
    for (const [host, rider] of [["h", "r"], [long, "r".repeat(200)]] as const) {
      assert.deepStrictEqual(ofTrail(host, rider), {
        provider: "wanderer",
        externalId: id,
        url: `https://${host}/trail/view/@${rider}/${id}`
      })
    }
    assert.isUndefined(ofTrail(`h${long}`, "r"))
    assert.isUndefined(ofTrail("h", "r".repeat(201)))
    assert.isUndefined(ofTrail("h", "r", `${id}6`))
  })

  it("is known by a name of Garmin's with 6 to 20 digits, of at most 255 characters", () => {
    const ofFile = (path: string, creator?: string) => sourceOf(path, { creator, links: [] }, undefined)
    const uploads = "UploadedFiles_0-_Part1.zip/"
    const page = "https://connect.garmin.com/modern"
    for (const id of [digits(6), digits(20)]) {
      const activity = { provider: "garmin", externalId: id, url: `${page}/activity/${id}` }
      const course = { provider: "garmin", externalId: `course/${id}`, url: `${page}/course/${id}` }
      const upload = { provider: "garmin", externalId: `upload/${id}` }
      assert.deepStrictEqual(ofFile(`rides/activity_${id}.gpx`), activity)
      assert.deepStrictEqual(ofFile(`${id}_ACTIVITY.fit.gz`, "Garmin Connect"), activity)
      assert.deepStrictEqual(ofFile(`COURSE_${id}.tcx`), course)
      assert.deepStrictEqual(ofFile(`${uploads}rider_${id}.fit`), upload)
      assert.deepStrictEqual(ofFile(`${uploads}rider_${id}_2-a.fit`), upload)
      assert.isUndefined(ofFile(`rider_${id}.fit`))
      assert.isUndefined(ofFile(`activity_${id}.gpx`, "Another program"))
    }
    for (const id of [digits(5), digits(21)]) {
      for (const name of [`activity_${id}.gpx`, `${id}_ACTIVITY.fit`, `COURSE_${id}.tcx`, `${uploads}_${id}.fit`]) {
        assert.isUndefined(ofFile(name), name)
      }
    }
    const end = `_${digits(6)}.fit`
    assert.isDefined(ofFile(`${uploads}${nameOf(255, "a", end)}`))
    assert.isUndefined(ofFile(`${uploads}${nameOf(256, "a", end)}`))
  })

  it("is known by the number in a name of Komoot's, first or last, which is no date", () => {
    const ofFile = (name: string) =>
      sourceOf(`tours/${name}`, { creator: "https://www.komoot.de", links: [] }, undefined)?.externalId
    for (const id of [digits(6), digits(12), "18991231", "21991231"]) {
      for (
        const name of [
          `${id}_Ride.gpx`,
          `2024-05-06_${id}-Ride.gpx`,
          `2024-05-06 tour-${id} Ride.gpx`,
          `Ride-${id}.gpx`
        ]
      ) assert.strictEqual(ofFile(name), id, name)
    }
    for (const id of [digits(5), digits(13), "19991231", "20240506"]) {
      for (const name of [`${id}_Ride.gpx`, `2024-05-06_${id}-Ride.gpx`, `Ride-${id}.gpx`]) {
        assert.isUndefined(ofFile(name), name)
      }
    }
    assert.isDefined(ofFile(nameOf(255, `${digits(6)}_`, ".gpx")))
    assert.isUndefined(ofFile(nameOf(256, `${digits(6)}_`, ".gpx")))
  })

  it("is known by the 15 characters of wanderer's names, one of which is a digit", () => {
    const ofFile = (path: string) => sourceOf(path, { creator: "wanderer", links: [] }, undefined)
    for (const path of ["abcdefghij12345.gpx", "x-abcdefghij12345.gpx.gz", "abcdefghij12345/Alp.gpx"]) {
      assert.deepStrictEqual(ofFile(path), { provider: "wanderer", externalId: "abcdefghij12345" }, path)
    }
    for (const path of ["abcdefghij1234.gpx", "abcdefghij123456.gpx", "abcdefghijklmno.gpx"]) {
      assert.isUndefined(ofFile(path), path)
    }
  })
})

const activitiesIn = (text: string) => readActivities.run(new TextEncoder().encode(text))

describe("the activities of Strava's archive", () => {
  it("are the rows that have an id and a file, in UTC where the month or the year comes first", () => {
    const rows = [
      "Activity ID,Activity Date,Activity Name,Activity Type,Activity Description,Filename",
      "1,\"May 5, 2024, 6:00:00 AM\",\"A \"\"short\"\" ride\",Ride,\"Two\nlines\",7,activities/1.fit.gz",
      `${digits(20)},2024-05-06 07:00:00,Run,Run,,activities/2.gpx`,
      "3,5 May 2024,Walk,Walk,,activities/3.gpx",
      `${digits(21)},2024-05-06 07:00:00,Run,Run,,activities/4.gpx`,
      ",2024-05-06 07:00:00,Run,Run,,activities/5.gpx",
      "6,2024-05-06 07:00:00,Run,Run,,"
    ]
    const described = { name: "A \"short\" ride", type: "Ride", description: "Two\nlines" }
    assert.deepStrictEqual(activitiesIn(rows.join("\r\n")), [
      { file: "activities/1.fit.gz", id: "1", ...described, recordedAt: "2024-05-05T06:00:00.000Z" },
      {
        file: "activities/2.gpx",
        id: digits(20),
        name: "Run",
        type: "Run",
        description: "",
        recordedAt: "2024-05-06T07:00:00.000Z"
      },
      { file: "activities/3.gpx", id: "3", name: "Walk", type: "Walk", description: "", recordedAt: undefined }
    ])
  })
})

describe("the activities of Garmin's export", () => {
  const summariesIn = (value: unknown) => readSummaries.run(new TextEncoder().encode(JSON.stringify(value)))
  const nested = (depth: number): unknown => depth === 0 ? 0 : [nested(depth - 1)]

  it("have the time that has elapsed, or that of the timer, in a document of at most 16 levels", () => {
    const ride = { activityId: 1, name: "Ride", beginTimestamp: 1000 }
    const summaries = [{ ...ride, duration: 5, elapsedDuration: 7 }, { ...ride, duration: 5 }, ride, { name: "Other" }]
    assert.deepStrictEqual(
      summariesIn([{ summarizedActivitiesExport: summaries }]),
      [1007, 1005, 1000].map((to) => ({ id: "1", name: "Ride", from: 1000, to }))
    )
    // The array, the object, its array and the activity are four levels.
    const withLaps = (levels: number) => [{ summarizedActivitiesExport: [{ ...ride, laps: nested(levels) }] }]
    assert.strictEqual(
      JSON.stringify(summariesIn(withLaps(12))),
      "[{\"id\":\"1\",\"name\":\"Ride\",\"from\":1000,\"to\":1000}]"
    )
    assert.deepStrictEqual(summariesIn(withLaps(13)), [])
    assert.deepStrictEqual(summariesIn({}), [])
  })

  it("name the uploads that were recorded during them, with a minute before and behind", () => {
    const from = Date.parse("2024-05-05T06:00:00Z")
    const activities = [
      { id: "1", name: "First", from, to: from + 3_600_000 },
      { id: "2", name: "", from: from + 7_200_000, to: from + 10_800_000 }
    ]
    const upload = { provider: "garmin", externalId: "upload/7" }
    const at = (millis: number) => activityOfUpload(upload, activities, new Date(from + millis).toISOString())
    const page = (id: string) => ({
      provider: "garmin",
      externalId: id,
      url: `https://connect.garmin.com/modern/activity/${id}`
    })
    for (const millis of [-60_000, 0, 3_660_000]) {
      assert.deepStrictEqual(at(millis), { name: "First", source: page("1") })
    }
    for (const millis of [7_140_000, 10_860_000]) assert.deepStrictEqual(at(millis), { source: page("2") })
    for (const millis of [-60_001, 3_660_001, 7_139_999, 10_860_001]) assert.deepStrictEqual(at(millis), {})
    const during = new Date(from).toISOString()
    for (const instant of [null, undefined]) assert.deepStrictEqual(activityOfUpload(upload, activities, instant), {})
    for (const source of [undefined, page("1"), { ...upload, provider: "strava" }]) {
      assert.deepStrictEqual(activityOfUpload(source, activities, during), {})
    }
  })
})
