import { BaseSequencer, createVitest, type TestSpecification } from "vitest/node"

class AsOrdered extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    return files
  }
}

/** Runs each list of tests of `mutants.ts`, and sends the first failure: a start takes longer than most tests. */
const vitest = await createVitest("test", {
  watch: false,
  bail: 1,
  maxWorkers: 1,
  reporters: [{}],
  sequence: { sequencer: AsOrdered }
})

const firstFailure = async (tests: ReadonlyArray<string>) => {
  const rankOf = ({ moduleId }: TestSpecification) => tests.findIndex((test) => moduleId.endsWith(test))
  const specifications = await vitest.globTestSpecifications([...tests])
  const { testModules } = await vitest.runTestSpecifications(specifications.toSorted((a, b) => rankOf(a) - rankOf(b)))
  for (const module of testModules.filter(({ relativeModuleId }) => tests.includes(relativeModuleId))) {
    for (const test of module.children.allTests("failed")) return `${module.relativeModuleId} > ${test.fullName}`
    if (module.errors().length > 0) return `${module.relativeModuleId} > ${module.errors()[0]?.message}`
    if (!module.ok()) return `${module.relativeModuleId} > a hook`
  }
  return undefined
}

process.on(
  "message",
  (tests: ReadonlyArray<string>) => void firstFailure(tests).then((failure) => process.send?.({ failure }))
)

process.once("disconnect", () => void vitest.close())
