/**
 * The text of a JSON object that is not empty with more members, which are JSON text already: parsing and printing long
 * ones again would be most of the work of a read. Members that are undefined are left out.
 */
export const withMembers = (
  object: string,
  ...members: ReadonlyArray<readonly [name: string, json: string | undefined]>
): string => {
  const text = members.reduce(
    (text, [name, json]) => json === undefined ? text : `${text},"${name}":${json}`,
    object.slice(0, -1)
  )
  return `${text}}`
}
