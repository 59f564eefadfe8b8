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

// Files that are sent without a session are lost: the form says so first, and keeps them.
for (const form of document.querySelectorAll("form[data-late]")) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault()
    const alert = form.querySelector("[role=alert]")
    const { type } = await fetch(location.pathname, { method: "HEAD", redirect: "manual" }).catch(() => ({}))
    const isLate = type === "opaqueredirect"
    alert.hidden = !isLate
    alert.textContent = isLate ? form.dataset.late : ""
    if (!isLate) form.submit()
  })
}
