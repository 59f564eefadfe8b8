/**
 * Effect 4.1 has the 3 MB of Scalar's script within its page (`HttpApiScalar.layer`), where a browser loads it again each time,
 * or takes it from a CDN (`layerCdn`), which the vendor's servers then see, and the page does not say its language. To see it, look at
 * the size of the page, and at `<html>`. This ends when `HttpApiScalar` takes the address of the script and has a language.
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
  const inEnglish = page.replace("<html>", "<html lang=\"en\">")
  const [before, bundle = "", between, start = "", after] = inEnglish.split(/<script>|<\/script>/)
  return {
    bundle,
    start,
    pageWith: (address) => `${before}<script src="${address}"></script>${between}<script>${start}</script>${after}`
  }
}
