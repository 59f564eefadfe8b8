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
