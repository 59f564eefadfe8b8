// Browsers have a clipboard for pages over HTTPS and on localhost only.
if (navigator.clipboard !== undefined) {
  for (const field of document.querySelectorAll("input[data-copy]")) {
    const button = document.createElement("button")
    button.type = "button"
    button.className = "quiet copy"
    button.textContent = field.dataset.copy
    button.addEventListener("click", async () => {
      field.select()
      await navigator.clipboard.writeText(field.value)
      button.textContent = field.dataset.copied
    })
    // A change of its text is announced.
    button.setAttribute("aria-live", "polite")
    field.after(button)
  }
}

// On a slow network, a second press would do the work twice.
const sent = new Set()
const sendOnce = (event) => {
  if (sent.has(event.target)) {
    event.preventDefault()
    event.stopPropagation()
  }
  sent.add(event.target)
  if (globalThis.navigation === undefined) setTimeout(() => sent.clear(), 10_000)
}
addEventListener("submit", sendOnce, { capture: true })
// A browser that goes back may show the page as it was left.
addEventListener("pageshow", () => sent.clear())
// A reader who stops a form may send it again.
globalThis.navigation?.addEventListener("navigateerror", () => sent.clear())

// Without a session, files are lost and a download fails: the page says so first, and keeps what is in it.
for (const element of document.querySelectorAll("[data-late]")) {
  const isForm = element.matches("form")
  const alert = document.createElement("p")
  alert.className = "error"
  alert.role = "alert"
  alert.hidden = true
  element.after(alert)
  element.addEventListener(isForm ? "submit" : "click", async (event) => {
    if (!event.isTrusted) return
    event.preventDefault()
    const { type } = await fetch(location.pathname, { method: "HEAD", redirect: "manual" }).catch(() => ({}))
    const isLate = type === "opaqueredirect"
    alert.hidden = !isLate
    alert.textContent = isLate ? element.dataset.late : ""
    if (isLate) sent.delete(element)
    else if (isForm) element.submit()
    else event.target.click()
  })
}
