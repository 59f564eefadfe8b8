declare module "geokdbush" {
  export function distance(lng: number, lat: number, lng2: number, lat2: number): number
}
