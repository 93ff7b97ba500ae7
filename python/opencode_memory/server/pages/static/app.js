// Keys for the pages. All that they do can be done without them.
"use strict"

const items = () => [...document.querySelectorAll("[data-item]")]
let current = -1

function choose(step) {
  const known = items()
  if (known.length === 0) return
  known[current]?.classList.remove("current")
  current = Math.min(Math.max(current + step, 0), known.length - 1)
  known[current].classList.add("current")
  known[current].scrollIntoView({ block: "nearest" })
}

function press(name) {
  const button = items()[Math.max(current, 0)]?.querySelector(`[data-key="${name}"]`)
  button?.click()
  button?.closest("details")?.querySelector("textarea")?.focus()
}

const isReview = () => document.querySelector("[data-review]") !== null

const KEYS = {
  "/": () => {
    const field = document.querySelector("[data-search]")
    if (field) field.focus()
    else location.assign(new URL("search", document.querySelector("nav a").href))
  },
  "?": () => document.getElementById("keys").showModal(),
  j: () => choose(1),
  k: () => choose(-1),
  Enter: () => items()[current]?.querySelector("a")?.click(),
  x: () => items()[current]?.querySelector("input[type=checkbox]")?.click(),
  a: () => isReview() && press("accept"),
  e: () => isReview() && press("edit"),
  r: () => isReview() && press("reject"),
}

document.addEventListener("keydown", (event) => {
  const isTyping = event.target.closest("input, select, textarea, button, a, summary, dialog")
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey || !(event.key in KEYS)) return
  event.preventDefault()
  KEYS[event.key]()
})
