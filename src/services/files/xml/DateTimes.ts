const DATE_TIME =
  /^(?!0000)(\d{4})-(0[1-9]|1[0-2])-(\d{2})T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-](?:(?:0\d|1[0-3]):[0-5]\d|14:00))?$/

const isLeap = (year: number) => year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)

const daysOf = (year: number, month: number) => {
  if (month === 2) return isLeap(year) ? 29 : 28
  return [4, 6, 9, 11].includes(month) ? 30 : 31
}

/** `xsd:dateTime` with a year of four digits (XML Schema Part 2, 3.2.7). */
export const isDateTime = (text: string): boolean => {
  const [, year, month, day] = DATE_TIME.exec(text) ?? []
  return day !== undefined && Number(day) >= 1 && Number(day) <= daysOf(Number(year), Number(month))
}
