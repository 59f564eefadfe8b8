import { BaseSequencer, type TestSpecification } from "vitest/node"

const startsProcesses = ({ moduleId }: TestSpecification) => moduleId.includes("/test/process/")

/** Starts the tests of processes first: most of them take long, and one that came last would run alone. */
export class ProcessesFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    const sorted = await super.sort.call(this, files)
    return [...sorted.filter(startsProcesses), ...sorted.filter((file) => !startsProcesses(file))]
  }
}
