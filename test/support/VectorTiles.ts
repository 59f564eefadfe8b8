import { PbfWriter } from "pbf"

const GEOMETRY = { point: 1, line: 2, polygon: 3 }

export const EXTENT = 4096

export interface Shape {
  readonly type: keyof typeof GEOMETRY
  readonly points: ReadonlyArray<readonly [x: number, y: number]>
  readonly properties: Readonly<Record<string, string | number>>
}

/** Writes commands and zigzag deltas (Vector Tile Specification 2.1, 4.3). */
const commandsOf = ({ points, type }: Shape) => {
  let [x, y] = [0, 0]
  const zigzag = (value: number) => (value << 1) ^ (value >> 31)
  const parts = points.flatMap(([nextX, nextY], index) => {
    const delta = [zigzag(nextX - x), zigzag(nextY - y)]
    ;[x, y] = [nextX, nextY]
    if (index === 0) return [1 | (1 << 3), ...delta]
    return index === 1 ? [2 | ((points.length - 1) << 3), ...delta] : delta
  })
  return type === "polygon" ? [...parts, 7 | (1 << 3)] : parts
}

/** Writes the bytes of a tile (Vector Tile Specification 2.1, 4). */
export const tileOf = (layers: Readonly<Record<string, ReadonlyArray<Shape>>>) => {
  const tile = new PbfWriter()
  for (const [name, shapes] of Object.entries(layers)) {
    const pairs = shapes.flatMap(({ properties }) => Object.entries(properties))
    const layerWriter = new PbfWriter()
    layerWriter.writeVarintField(15, 2)
    layerWriter.writeStringField(1, name)
    let at = 0
    for (const shape of shapes) {
      const feature = new PbfWriter()
      const tags = Object.keys(shape.properties).flatMap(() => [at, at++])
      feature.writePackedVarint(2, tags)
      feature.writeVarintField(3, GEOMETRY[shape.type])
      feature.writePackedVarint(4, commandsOf(shape))
      layerWriter.writeBytesField(2, feature.finish())
    }
    for (const [key] of pairs) layerWriter.writeStringField(3, key)
    for (const [, value] of pairs) {
      const written = new PbfWriter()
      if (typeof value === "string") written.writeStringField(1, value)
      else written.writeVarintField(5, value)
      layerWriter.writeBytesField(4, written.finish())
    }
    layerWriter.writeVarintField(5, EXTENT)
    tile.writeBytesField(3, layerWriter.finish())
  }
  return tile.finish()
}
