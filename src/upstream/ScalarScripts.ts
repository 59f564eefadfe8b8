/**
 * Effect 4.1 has the 3 MB of Scalar's script within its page (`HttpApiScalar.layer`), where a browser loads it again each time,
 * or takes it from a CDN (`layerCdn`), which the vendor's servers then see. To see it, look at the size of the page. This ends
 * when `HttpApiScalar` takes the address of the script.
 */

interface ScalarScripts {
  readonly bundle: string
  /** The script that starts the bundle. */
  readonly start: string
  /** The page with the bundle at an address. */
  readonly pageWith: (bundle: string) => string
}

/** The page has two scripts: the bundle, and the one that starts it. */
export const scalarScripts = (page: string): ScalarScripts => {
  const [before, bundle = "", between, start = "", after] = page.split(/<script>|<\/script>/)
  return {
    bundle,
    start,
    pageWith: (address) => `${before}<script src="${address}"></script>${between}<script>${start}</script>${after}`
  }
}
