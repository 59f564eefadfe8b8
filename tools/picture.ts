import { join } from "node:path"
import { chromium } from "playwright-core"

/**
 * `node tools/picture.ts <address of a shared page>` makes `docs/shared-route.png` from a running service, by the
 * Chromium that `CHROMIUM` names.
 */
const FILE = join(import.meta.dirname, "../docs/shared-route.png")

const [address] = process.argv.slice(2)
if (address === undefined) throw new Error("Expected the address of a page: node tools/picture.ts <address>")

const browser = await chromium.launch({
  executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
  // Root, such as in a container, may not use Chromium's sandbox.
  chromiumSandbox: process.getuid?.() !== 0
})
const page = await browser.newPage({ viewport: { width: 900, height: 760 }, colorScheme: "light" })
await page.goto(address, { waitUntil: "networkidle" })
await page.screenshot({ path: FILE })
await browser.close()
