/**
 * Effect 4.1 has the 3 MB of Scalar's script in its page (`HttpApiScalar.layer`), so browsers load it each time, or
 * takes it from a CDN (`layerCdn`), whose servers then see them. The page does not state its language. To see it, look
 * at the page's size, and at `<html>`. This ends when `HttpApiScalar` takes the script's address and a language.
 */

interface ScalarScripts {
  readonly bundle: string
  readonly start: string
  /** Returns the page, which loads the bundle from an address. */
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
