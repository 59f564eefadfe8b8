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

// Files that are sent without a session are lost: the form says so first, and keeps them.
for (const form of document.querySelectorAll("form[data-late]")) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault()
    const alert = form.querySelector("[role=alert]")
    const { type } = await fetch(location.pathname, { method: "HEAD", redirect: "manual" }).catch(() => ({}))
    const isLate = type === "opaqueredirect"
    alert.hidden = !isLate
    alert.textContent = isLate ? form.dataset.late : ""
    if (isLate) sent.delete(form)
    else form.submit()
  })
}
